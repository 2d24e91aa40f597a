"""Plain: a server of texts: the Open Inference Protocol v2 over HTTP and gRPC, and TensorFlow Serving's REST.

`seqzoo serve` starts it (`serving.server.process`). A request goes through these files, from outside to inside:

| file | what it knows |
|---|---|
| `heads`, `connections`, `visitors` | a connection of HTTP: what it may send before it is read, how long, how many |
| `http`, `asking`, `grpc_service` | the two ports: bytes, deadlines, callers who leave |
| `door`, `health` | who is let in, and what everybody may ask |
| `v2`, `tf_rest` | the two protocols: tensors from JSON and back |
| `tensors` | a tensor, checked: type, shape, number of values |
| `service` | a request from its admission to its answer, counted |
| `models` | which model and version a name stands for; new versions while it runs |
| `texts`, `rows` | the signatures of a model: what they take, what they answer |
| `lane` | what is answered soon, what takes long, and how many runs go on at once |
| `batcher`, `shares` | the queue of a model, whose turn it is, and the batches that are made of it |

It imports `serving.runtime`, and of others grpc, protobuf, Starlette, uvicorn, orjson and prometheus_client.
"""
