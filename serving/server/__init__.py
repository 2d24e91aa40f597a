"""Plain: a server of texts: the Open Inference Protocol v2 over HTTP and gRPC, and TensorFlow Serving's REST.

`seqzoo serve` starts it (`serving.server.process`). A request goes through these files, from outside to inside:

| file | what it knows |
|---|---|
| `connections` | a connection of HTTP: what it may send before it is read, and how long |
| `door` | who is let in, and how many connections each caller may have |
| `http`, `grpc_service` | the two ports: bytes, deadlines, callers who leave, and what everybody may ask |
| `bodies`, `v2`, `tf_rest`, `messages` | the two protocols: tensors from JSON, or messages, and back |
| `tensors` | a tensor, checked: type, shape, number of values |
| `service` | a request from its admission to its answer, counted |
| `models` | which model and version a name stands for; new versions while it runs |
| `signatures` | the signatures of a model: what they take, what they answer |
| `lane` | what is answered soon, what takes long, and how many runs go on at once |
| `batcher` | the queue of a model, whose turn it is, and the batches that are made of it |
| `monitoring` | events and metrics |

It imports `serving.runtime`, and of others grpc, protobuf, Starlette, uvicorn, orjson and prometheus_client.
"""
