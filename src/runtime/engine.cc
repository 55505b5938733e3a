#include "runtime/engine.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <dlfcn.h>

#include <algorithm>
#include <mutex>

#include "base/log.h"
#include "base/macros.h"
#include "base/parallel.h"
#include "runtime/environment.h"
#include "runtime/tensor_memory.h"

namespace sam3::runtime {

std::string engine_message(const Ort::Exception& exception) {
  std::string text = exception.what();
  std::replace(text.begin(), text.end(), '\n', ' ');
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

namespace {

Error unavailable(std::string message) {
  return Error{ErrorCode::kUnavailable, std::move(message), "", ""};
}

// The handle is never closed: sessions and static objects of the library may outlive any of ours.
Result<LibraryInfo> load_once(const std::string& library) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return unavailable("ONNX Runtime cannot be loaded as '" + library + "': " + dlerror());
  using GetApiBase = const OrtApiBase* (*)();
  const auto get_base = reinterpret_cast<GetApiBase>(dlsym(handle, "OrtGetApiBase"));
  if (!get_base)
    return unavailable("'" + library + "' is not ONNX Runtime: it has no OrtGetApiBase");
  const OrtApiBase* base = get_base();
  LibraryInfo info;
  info.version = base->GetVersionString();
  // A library that is too old answers null, and prints a line of its own.
  const OrtApi* api = base->GetApi(ORT_API_VERSION);
  if (!api)
    return unavailable("ONNX Runtime " + info.version + " in '" + library +
                       "' is too old: version 1." + std::to_string(ORT_API_VERSION) +
                       " or newer is needed");
  Ort::InitApi(api);
  try {
    info.providers = Ort::GetAvailableProviders();
  } catch (const Ort::Exception& exception) {
    return unavailable(engine_message(exception));
  }
  for (const std::string& name : device_names()) {
    const std::string provider = provider_of(name);
    if (std::find(info.providers.begin(), info.providers.end(), provider) != info.providers.end())
      info.devices.push_back(name);
  }
  return info;
}

void ORT_API_CALL on_log(void*, OrtLoggingLevel severity, const char*, const char*, const char*,
                         const char* message) {
  const LogLevel level = severity >= ORT_LOGGING_LEVEL_ERROR     ? LogLevel::kError
                         : severity == ORT_LOGGING_LEVEL_WARNING ? LogLevel::kWarning
                         : severity == ORT_LOGGING_LEVEL_INFO    ? LogLevel::kInfo
                                                                 : LogLevel::kDebug;
  try {
    log_line(level, std::string("onnxruntime: ") + message);
  } catch (...) {  // a throwing hook must not unwind through the engine
    return;
  }
}

// Fails where another part of the process has given the engine's environment an allocator; the
// engine's own is used then.
void register_memory(Engine::Environment& environment) {
  try {
    environment.env.RegisterAllocator(tensor_memory());
    environment.own_memory = true;
  } catch (const Ort::Exception& exception) {
    log_line(LogLevel::kDebug, "tensors lie in the engine's memory: " + engine_message(exception));
  }
}

// ONNX Runtime has one environment a process, with one pool; engines that ask for the same number
// of threads while it lives share it.
Result<std::shared_ptr<Engine::Environment>> shared_environment(int threads) {
  static std::mutex mutex;
  static std::weak_ptr<Engine::Environment> current;
  std::lock_guard lock(mutex);
  if (auto environment = current.lock()) {
    if (environment->threads != threads)
      log_line(LogLevel::kWarning, "another model of this process already runs with " +
                                       std::to_string(environment->threads) +
                                       " threads; this one uses them too instead of " +
                                       std::to_string(threads));
    return environment;
  }
  auto environment = std::make_shared<Engine::Environment>();
  environment->threads = threads;
  try {
    Ort::ThreadingOptions pool;
    // A count that is set also keeps the engine from pinning threads to processors it may not have.
    pool.SetGlobalIntraOpNumThreads(threads);
    pool.SetGlobalInterOpNumThreads(1);
    environment->env = Ort::Env(pool, on_log, nullptr, ORT_LOGGING_LEVEL_WARNING, "sam3");
    environment->env.DisableTelemetryEvents();
    register_memory(*environment);
  } catch (const Ort::Exception& exception) {
    return Error{ErrorCode::kRuntime, engine_message(exception), "", ""};
  }
  current = environment;
  return environment;
}

}  // namespace

Result<LibraryInfo> load_library(const std::string& library) {
  static std::mutex mutex;
  static std::optional<LibraryInfo> loaded;
  std::lock_guard lock(mutex);
  if (!loaded) {
    SAM3_ASSIGN_OR_RETURN(loaded, load_once(library));
  }
  return *loaded;
}

bool int8_sums_saturate() {
#if defined(__x86_64__)
  // AVX-VNNI is bit 4 of EAX in leaf 7.1; not every compiler has a name for it.
  unsigned int a = 0, b = 0, c = 0, d = 0;
  const bool avx_vnni = __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a >> 4U & 1U) != 0;
  return !__builtin_cpu_supports("avx512vnni") && !avx_vnni;
#else
  return false;
#endif
}

Result<std::shared_ptr<const Engine>> Engine::create(const EngineOptions& options) {
  SAM3_ASSIGN_OR_RETURN(const DeviceRequest request, parse_device(options.device));
  if (options.threads < 0)
    return Error{ErrorCode::kInvalidArgument,
                 "the number of threads must be at least 1, not " + std::to_string(options.threads),
                 "", ""};
  std::shared_ptr<Engine> engine(new Engine);
  SAM3_ASSIGN_OR_RETURN(engine->library_, load_library(options.library));
  engine->requested_ = options.device;
  engine->index_ = request.index;
  engine->plain_ = options.plain;
  engine->profile_ = options.profile;
  // The processor is what every library has; other devices are taken when they are asked for.
  engine->effective_ = request.name == "auto" ? "cpu" : request.name;
  if (engine->effective_ == "cpu" && request.index != 0)
    return unavailable("device '" + options.device +
                       "' cannot be had: the CPU is one device, index 0");
  const auto& devices = engine->library_.devices;
  if (std::find(devices.begin(), devices.end(), engine->effective_) == devices.end()) {
    std::string offered;
    for (const std::string& device : devices) offered += (offered.empty() ? "" : ", ") + device;
    return unavailable("device '" + options.device + "' cannot be had: ONNX Runtime " +
                       engine->library_.version + " as loaded has no " + provider_of(request.name) +
                       "; it offers " + offered);
  }
  const int threads = options.threads > 0 ? options.threads : available_processors();
  SAM3_ASSIGN_OR_RETURN(engine->environment_, shared_environment(threads));
  engine->threads_ = engine->environment_->threads;
  return std::shared_ptr<const Engine>(std::move(engine));
}

}  // namespace sam3::runtime
