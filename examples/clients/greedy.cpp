// Greedy search over the two graphs of an artefact, encoder.onnx and step.onnx, with ONNX Runtime's C API and
// SentencePiece: text in, text out, without Python.
//
//   g++ -std=c++17 -O2 greedy.cpp -I ORT/include -L ORT/lib -lonnxruntime -lsentencepiece -o greedy
//   ORT_DISABLE_TELEMETRY=1 ./greedy ARTEFACT 100 < texts.txt
//
// ORT is the unpacked archive of an ONNX Runtime release; SentencePiece is libsentencepiece-dev of Debian and Ubuntu.
// The number is the most tokens of an output, `max_length` of the artefact's manifest.
//
// encode: token_ids (batch, time), lengths (batch) -> first_ids (batch, 1), memory.*, state.*
// step:   token_ids (batch, 1), memory.*, state.*  -> logits (batch, 1, vocabulary), next_state.*

#include <onnxruntime_c_api.h>
#include <sentencepiece_processor.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

const OrtApi* api() {
  static const OrtApi* found = OrtGetApiBase()->GetApi(ORT_API_VERSION);
  if (!found) throw std::runtime_error("this libonnxruntime is older than the headers");
  return found;
}

void check(OrtStatus* status) {
  if (!status) return;
  std::string said = api()->GetErrorMessage(status);
  api()->ReleaseStatus(status);
  throw std::runtime_error(said);
}

using Value = std::shared_ptr<OrtValue>;
using Values = std::map<std::string, Value>;

Value owned(OrtValue* value) {
  return Value(value, [](OrtValue* each) { api()->ReleaseValue(each); });
}

// A tensor of int32 that has memory of its own.
Value integers(const std::vector<int32_t>& data, const std::vector<int64_t>& shape) {
  OrtAllocator* allocator = nullptr;
  OrtValue* made = nullptr;
  void* memory = nullptr;
  check(api()->GetAllocatorWithDefaultOptions(&allocator));
  check(api()->CreateTensorAsOrtValue(allocator, shape.data(), shape.size(), ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32, &made));
  Value value = owned(made);
  check(api()->GetTensorMutableData(made, &memory));
  std::copy(data.begin(), data.end(), static_cast<int32_t*>(memory));
  return value;
}

// A graph, run with tensors by name; what it does not take is left out.
class Graph {
 public:
  Graph(OrtEnv* env, const std::string& path) {
    OrtSessionOptions* options = nullptr;
    check(api()->CreateSessionOptions(&options));
    OrtStatus* status = api()->SetIntraOpNumThreads(options, 1);
    if (!status) status = api()->CreateSession(env, path.c_str(), options, &session_);
    api()->ReleaseSessionOptions(options);
    check(status);
    size_t count = 0;
    check(api()->SessionGetInputCount(session_, &count));
    for (size_t place = 0; place < count; ++place) inputs_.push_back(name(place, true));
    check(api()->SessionGetOutputCount(session_, &count));
    for (size_t place = 0; place < count; ++place) outputs_.push_back(name(place, false));
  }
  Graph(const Graph&) = delete;
  ~Graph() { api()->ReleaseSession(session_); }

  Values run(const Values& given) const {
    std::vector<const char*> in, out;
    std::vector<const OrtValue*> values;
    for (const auto& each : inputs_) {
      in.push_back(each.c_str());
      values.push_back(given.at(each).get());
    }
    for (const auto& each : outputs_) out.push_back(each.c_str());
    std::vector<OrtValue*> made(out.size(), nullptr);
    check(api()->Run(session_, nullptr, in.data(), values.data(), in.size(), out.data(), out.size(), made.data()));
    Values found;
    for (size_t place = 0; place < made.size(); ++place) found[outputs_[place]] = owned(made[place]);
    return found;
  }

 private:
  std::string name(size_t place, bool input) const {
    OrtAllocator* allocator = nullptr;
    char* text = nullptr;
    check(api()->GetAllocatorWithDefaultOptions(&allocator));
    check(input ? api()->SessionGetInputName(session_, place, allocator, &text)
                : api()->SessionGetOutputName(session_, place, allocator, &text));
    std::string found = text;
    check(api()->AllocatorFree(allocator, text));
    return found;
  }

  OrtSession* session_ = nullptr;
  std::vector<std::string> inputs_, outputs_;
};

// The likeliest token of logits (1, 1, vocabulary).
int32_t likeliest(const Value& logits) {
  OrtTensorTypeAndShapeInfo* info = nullptr;
  size_t count = 0;
  void* memory = nullptr;
  check(api()->GetTensorTypeAndShape(logits.get(), &info));
  OrtStatus* status = api()->GetTensorShapeElementCount(info, &count);
  api()->ReleaseTensorTypeAndShapeInfo(info);
  check(status);
  check(api()->GetTensorMutableData(logits.get(), &memory));
  const float* values = static_cast<const float*>(memory);
  return static_cast<int32_t>(std::max_element(values, values + count) - values);
}

std::vector<int> greedy(const Graph& encoder, const Graph& step, std::vector<int> source, int end, int most) {
  source.push_back(end);
  const int64_t length = static_cast<int64_t>(source.size());
  const std::vector<int32_t> ids(source.begin(), source.end());
  Values known = encoder.run({{"token_ids", integers(ids, {1, length})}, {"lengths", integers({int32_t(length)}, {1})}});
  known["token_ids"] = known.at("first_ids");
  std::vector<int> written;
  while (static_cast<int>(written.size()) < most) {
    Values found = step.run(known);
    const int32_t token = likeliest(found.at("logits"));
    if (token == end) break;
    written.push_back(token);
    known["token_ids"] = integers({token}, {1, 1});
    for (auto& [name, value] : found)
      if (name.rfind("next_", 0) == 0) known[name.substr(5)] = value;
  }
  return written;
}

void load(sentencepiece::SentencePieceProcessor& tokenizer, const std::string& path) {
  const auto status = tokenizer.Load(path);
  if (!status.ok()) throw std::runtime_error(path + ": " + status.ToString());
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) {
    std::cerr << "usage: greedy ARTEFACT MAX_LENGTH < texts\n";
    return 2;
  }
  try {
    const std::string home = std::string(words[1]) + "/";
    sentencepiece::SentencePieceProcessor source, target;
    load(source, home + "source.spm");
    load(target, home + "target.spm");
    OrtEnv* made = nullptr;
    check(api()->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "greedy", &made));
    const std::unique_ptr<OrtEnv, void (*)(OrtEnv*)> env(made, [](OrtEnv* each) { api()->ReleaseEnv(each); });
    const Graph encoder(env.get(), home + "encoder.onnx"), step(env.get(), home + "step.onnx");
    const int most = std::stoi(words[2]);
    for (std::string line; std::getline(std::cin, line);) {
      const std::vector<int> ids = source.EncodeAsIds(line);
      std::cout << (ids.empty() ? "" : target.DecodeIds(greedy(encoder, step, ids, source.eos_id(), most))) << "\n";
    }
  } catch (const std::exception& error) {
    std::cerr << "greedy: " << error.what() << "\n";
    return 1;
  }
}
