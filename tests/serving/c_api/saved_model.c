/* Loads a SavedModel as a server does, without Python, and answers requests with it.
 *
 *     saved_model DIRECTORY REQUESTS ANSWERS LIBRARY...
 *
 * Each LIBRARY holds operators of TensorFlow Text. REQUESTS and ANSWERS are files of little-endian numbers:
 *
 *     requests := int32 count, then for each: int32 inputs, (name, tensor)..., int32 outputs, name...
 *     answers  := for each request and each of its outputs: tensor
 *     name     := int32 length, bytes: "operation:index"
 *     tensor   := int32 dtype, int32 rank, int64 dims..., int64 bytes, bytes; of strings each is int64 length, bytes
 *
 * The exit status is 0 if every request was answered; else a sentence on standard error says why it was not.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensorflow/c/c_api.h"
#include "tensorflow/c/tf_tstring.h"

enum { MOST = 64 }; /* inputs or outputs of a signature */

static void fail(const char *what, const char *why) {
  fprintf(stderr, "%s: %s\n", what, why);
  exit(1);
}

static void check(const char *what, TF_Status *status) {
  if (TF_GetCode(status) != TF_OK) fail(what, TF_Message(status));
}

static void get(FILE *file, void *value, size_t size) {
  if (size && fread(value, 1, size, file) != size) fail("requests", "the file ends too early");
}

static void put(FILE *file, const void *value, size_t size) {
  if (size && fwrite(value, 1, size, file) != size) fail("answers", "cannot be written");
}

static int32_t get_count(FILE *file, int32_t most) {
  int32_t value;
  get(file, &value, sizeof value);
  if (value < 0 || value > most) fail("requests", "a count is out of range");
  return value;
}

static int64_t get_size(FILE *file) {
  int64_t value;
  get(file, &value, sizeof value);
  if (value < 0 || value > ((int64_t)1 << 40)) fail("requests", "a size is out of range");
  return value;
}

/* The output of an operation, from "operation:index". */
static TF_Output get_name(FILE *file, TF_Graph *graph) {
  int32_t length = get_count(file, 4096);
  char *name = calloc(length + 1, 1), *colon;
  get(file, name, length);
  colon = strrchr(name, ':');
  if (!colon) fail(name, "expected operation:index");
  *colon = 0;
  TF_Output found = {TF_GraphOperationByName(graph, name), atoi(colon + 1)};
  if (!found.oper) fail(name, "the graph has no such operation");
  free(name);
  return found;
}

static TF_Tensor *get_tensor(FILE *file) {
  int32_t dtype = get_count(file, 64), rank = get_count(file, 16);
  int64_t dims[16], elements = 1;
  for (int axis = 0; axis < rank; axis++) elements *= dims[axis] = get_size(file);
  int64_t bytes = get_size(file);
  if (dtype != TF_STRING) {
    TF_Tensor *tensor = TF_AllocateTensor(dtype, dims, rank, bytes);
    get(file, TF_TensorData(tensor), bytes);
    return tensor;
  }
  TF_Tensor *tensor = TF_AllocateTensor(TF_STRING, dims, rank, elements * sizeof(TF_TString));
  TF_TString *strings = TF_TensorData(tensor);
  for (int64_t each = 0; each < elements; each++) {
    int64_t length = get_size(file);
    char *text = malloc(length + 1);
    get(file, text, length);
    TF_StringInit(&strings[each]);
    TF_StringCopy(&strings[each], text, length);
    free(text);
  }
  return tensor;
}

static void put_tensor(FILE *file, const TF_Tensor *tensor) {
  int32_t dtype = TF_TensorType(tensor), rank = TF_NumDims(tensor);
  put(file, &dtype, sizeof dtype);
  put(file, &rank, sizeof rank);
  for (int axis = 0; axis < rank; axis++) {
    int64_t size = TF_Dim(tensor, axis);
    put(file, &size, sizeof size);
  }
  int64_t bytes = dtype == TF_STRING ? 0 : (int64_t)TF_TensorByteSize(tensor);
  put(file, &bytes, sizeof bytes);
  if (dtype != TF_STRING) {
    put(file, TF_TensorData(tensor), bytes);
    return;
  }
  const TF_TString *strings = TF_TensorData(tensor);
  for (int64_t each = 0; each < TF_TensorElementCount(tensor); each++) {
    int64_t length = TF_StringGetSize(&strings[each]);
    put(file, &length, sizeof length);
    put(file, TF_StringGetDataPointer(&strings[each]), length);
  }
}

static void answer(FILE *requests, FILE *answers, TF_Graph *graph, TF_Session *session, TF_Status *status) {
  TF_Output inputs[MOST], outputs[MOST];
  TF_Tensor *given[MOST], *found[MOST];
  int count = get_count(requests, MOST);
  for (int each = 0; each < count; each++) {
    inputs[each] = get_name(requests, graph);
    given[each] = get_tensor(requests);
  }
  int wanted = get_count(requests, MOST);
  for (int each = 0; each < wanted; each++) outputs[each] = get_name(requests, graph);
  TF_SessionRun(session, NULL, inputs, given, count, outputs, found, wanted, NULL, 0, NULL, status);
  check("running", status);
  for (int each = 0; each < wanted; each++) {
    put_tensor(answers, found[each]);
    TF_DeleteTensor(found[each]);
  }
  for (int each = 0; each < count; each++) TF_DeleteTensor(given[each]);
}

int main(int argc, char **argv) {
  if (argc < 4) fail("usage", "saved_model DIRECTORY REQUESTS ANSWERS LIBRARY...");
  TF_Status *status = TF_NewStatus();
  for (int each = 4; each < argc; each++) {
    TF_LoadLibrary(argv[each], status);
    check(argv[each], status);
  }
  const char *tags[] = {"serve"};
  TF_Graph *graph = TF_NewGraph();
  TF_SessionOptions *options = TF_NewSessionOptions();
  TF_Session *session = TF_LoadSessionFromSavedModel(options, NULL, argv[1], tags, 1, graph, NULL, status);
  check(argv[1], status);
  FILE *requests = fopen(argv[2], "rb"), *answers = fopen(argv[3], "wb");
  if (!requests) fail(argv[2], "cannot be opened");
  if (!answers) fail(argv[3], "cannot be opened");
  for (int count = get_count(requests, 1 << 20); count; count--) answer(requests, answers, graph, session, status);
  if (fclose(answers)) fail("answers", "cannot be written");
  fclose(requests);
  TF_CloseSession(session, status);
  TF_DeleteSession(session, status);
  TF_DeleteSessionOptions(options);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
  return 0;
}
