// What a client calls. A launch comes as a row of numbers, texts and arrays, in the order in which
// `read_launch` reads them, and what it did goes back the same way: client.py has the other end.
//
// All numbers are little-endian; a text is its length and its bytes.

#include <cmath>

#include "async_copies.hpp"
#include "hazards.hpp"
#include "never_set.hpp"
#include "shared_races.hpp"
#include "trace.hpp"

#ifdef __wasm__
#define EXPORT(name) extern "C" __attribute__((export_name(#name)))
#define IMPORT(name) extern "C" __attribute__((import_module("client"), import_name(#name)))
#else
#define EXPORT(name) extern "C"
#define IMPORT(name) extern "C"
#endif

IMPORT(clock) double client_clock();
IMPORT(progress) void client_progress(unsigned done, unsigned all);

namespace engine {

double clock_seconds() { return client_clock(); }
void tell_progress(u32 done, u32 all) { client_progress(done, all); }

namespace {

/// Writes what goes back.
class Writer {
 public:
  std::vector<u8> bytes;

  void raw(const void* data, std::size_t size) {
    const u8* from = static_cast<const u8*>(data);
    bytes.insert(bytes.end(), from, from + size);
  }
  template <class T>
  void number(T value) {
    raw(&value, sizeof value);
  }
  void integer(i64 value) { number(value); }
  void text(std::string_view value) {
    number(static_cast<u32>(value.size()));
    raw(value.data(), value.size());
  }
};

/// Reads what came.
class Reader {
 public:
  Reader(const u8* data, std::size_t size) : at_(data), end_(data + size) {}
  template <class T>
  T number() {
    T value{};
    std::memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }
  std::string text() {
    u32 size = number<u32>();
    return {reinterpret_cast<const char*>(take(size)), size};
  }
  std::vector<u8> data() {
    u64 size = number<u64>();
    const u8* from = take(size);
    return {from, from + size};
  }

 private:
  const u8* take(std::size_t size) {
    if (size > static_cast<std::size_t>(end_ - at_)) unknown("input");
    const u8* from = at_;
    at_ += size;
    return from;
  }
  const u8 *at_, *end_;
};

Writer output;                            // of the last call
std::vector<std::string> files_of_kernel; // names of source files, for places

void write(Location place) {
  bool has_file = place.file >= 0 && place.file < static_cast<int>(files_of_kernel.size());
  output.text(has_file ? files_of_kernel[place.file] : "");
  output.integer(place.line);
}

void write(const Values& values) {
  output.number(static_cast<u32>(values.size()));
  for (const Value& value : values) {
    output.number(static_cast<u32>(value.kind));
    output.text(value.name);
    if (value.kind == Value::text || value.kind == Value::sentence) output.text(value.words);
    else if (value.kind == Value::number) output.integer(value.count);
    else write(value.where);
  }
}

void write(const Message& message) {
  output.text(message.key);
  write(message.values);
  output.text(message.about);
  write(message.about_values);
}

void write(const Dim3& index) {
  for (u32 axis : {index.x, index.y, index.z}) output.integer(axis);
}

void write(const Hazard& hazard) {
  output.text(hazard.kind);
  write(hazard.place);
  write(hazard.message);
  write(hazard.block);
  write(hazard.thread);
  output.number(static_cast<u32>(hazard.has_array));
  output.text(hazard.array);
  output.number(static_cast<u32>(hazard.has_element ? hazard.element.size() : 0));
  for (i64 index : hazard.element) output.integer(index);
  output.number(static_cast<u32>(hazard.other_thread.has_value()));
  if (hazard.other_thread) write(*hazard.other_thread);
  output.number(static_cast<u32>(hazard.other_place.has_value()));
  if (hazard.other_place) write(*hazard.other_place);
  output.number(static_cast<u32>(hazard.across_warps));
}

/// Refuses a launch that no GPU takes, or that would take hours. Source of the limits: CUDA C++
/// Programming Guide, "Compute Capabilities".
void refuse_impossible(const Launch& launch) {
  auto product = [](const Dim3& sides) { return static_cast<i64>(sides.x) * sides.y * sides.z; };
  const i64 threads = product(launch.block), most = 1024;
  if (threads > most || threads < 1) refuse(Refusal::launch, "limits.threads", {named("most", most), named("threads", threads)});
  auto sides = [](const char* what, const Dim3& given, const std::array<i64, 3>& limits) {
    const u32 sizes[] = {given.x, given.y, given.z};
    for (int axis = 0; axis < 3; ++axis) {
      if (sizes[axis] <= limits[axis]) continue;
      refuse(Refusal::launch, "limits.axis", {named("what", what), named("size", static_cast<i64>(sizes[axis])),
                                              named("axis", std::string(1, "xyz"[axis])), named("limit", limits[axis])});
    }
  };
  sides("grid", launch.grid, {0x7FFFFFFF, 65535, 65535});
  sides("block", launch.block, {1024, 1024, 64});
  const double lanes = static_cast<double>(launch.grid.x) * launch.grid.y * launch.grid.z * static_cast<double>(threads);
  const i64 blocks = product(launch.grid);
  if (lanes > 2147483648.0) refuse(Refusal::launch, "limits.lanes", {named("blocks", blocks), named("threads", threads)});
  if (launch.together && lanes > 524288) refuse(Refusal::launch, "limits.together", {named("threads", blocks * threads), named("most", i64{524288})});
  i64 fixed = 0;
  for (const ArrayDeclaration& array : launch.kernel.shared) fixed += array.bytes;
  if (fixed > 49152) refuse(Refusal::launch, "limits.static", {named("bytes", fixed), named("most", i64{49152})});
  if (launch.shared_bytes < 0 || launch.shared_bytes > (1 << 20)) unknown("shared memory");
}

void read_launch(Reader& in, Launch& launch) {
  std::string ptx = in.text(), entry = in.text();
  for (Dim3* sides : {&launch.grid, &launch.block}) *sides = {in.number<u32>(), in.number<u32>(), in.number<u32>()};
  launch.shared_bytes = in.number<i64>();
  launch.check_hazards = in.number<u32>();
  launch.count_requests = in.number<u32>();
  bool trace = in.number<u32>();
  launch.products = in.number<u32>();
  launch.together = in.number<u32>();
  launch.schedule = static_cast<Schedule>(in.number<u32>());
  launch.patience = in.number<i64>();
  launch.time_limit = in.number<double>();
  for (u32 count = in.number<u32>(); count-- > 0;) {
    std::string name = in.text();
    i64 start = in.number<i64>(), bytes = in.number<i64>();
    launch.shared_parts.push_back({name, start, bytes});
  }
  bool chosen = in.number<u32>();
  for (u32 count = in.number<u32>(); count-- > 0;) launch.numbers.push_back(in.number<u32>());
  for (u32 count = in.number<u32>(); count-- > 0;) {
    Argument& one = launch.arguments.emplace_back();
    one.name = in.text();
    one.kind = static_cast<Argument::Kind>(in.number<u32>());
    one.number = in.number<i64>();
    one.value = in.number<double>();
    if (one.kind != Argument::array) continue;
    one.item_bytes = static_cast<int>(in.number<u32>());
    for (u32 axes = in.number<u32>(); axes-- > 0;) one.shape.push_back(in.number<i64>());
    one.unwritten = in.number<u32>();
    one.data = in.data();
  }

  launch.kernel = parse(ptx, entry);
  refuse_impossible(launch);
  files_of_kernel = launch.kernel.files;
  for (const Instruction& one : launch.kernel.instructions) {
    if (!is_known(one)) unknown(one.opcode);
  }
  launch.kernel = unroll_short_loops(std::move(launch.kernel));
  launch.blocks = basic_blocks(launch.kernel);
  launch.shared_arrays = lay_out(launch.kernel.shared, launch.shared_bytes);
  launch.local_arrays = lay_out(launch.kernel.local, 0);
  launch.merged = merge_shared_accesses(launch.kernel, launch.blocks, launch.shared_arrays);
  launch.unset = unset_reads(launch.kernel, launch.blocks);
  for (const Instruction& one : launch.kernel.instructions) {
    for (int reg : registers_read(one)) launch.read_somewhere.insert(reg);
  }
  for (u32 number : launch.numbers) {
    if (number >= launch.grid.count()) unknown("blocks");
  }
  if (!chosen) {
    for (u32 number = 0; number < launch.grid.count(); ++number) launch.numbers.push_back(number);
  }
  const std::size_t length = launch.kernel.instructions.size();
  launch.tally = {std::vector<i64>(launch.blocks.size()), std::vector<i64>(launch.blocks.size()),
                  std::vector<i64>(length), std::vector<i64>(length), std::vector<i64>(length)};
  launch.counts.assign(length, {});
  launch.hazards = std::make_unique<HazardLog>(launch);
  launch.never_set = std::make_unique<NeverSet>(launch);
  if (launch.check_hazards) launch.races = std::make_unique<SharedRaces>(launch);
  if (trace) launch.trace = std::make_unique<Trace>();
  launch.products = launch.products && trace;
  if (launch.time_limit >= 0) launch.deadline = clock_seconds() + launch.time_limit;
}

constexpr i64 ALLOCATION = 256;  // alignment of every allocation on the device, as cudaMalloc gives it
constexpr i64 GUARD = 1 << 16;   // bytes left free around each array: a small overrun hits no other

/// Lays out and fills global memory; pointers among the arguments become addresses.
void place_arguments(Launch& launch) {
  const std::vector<Parameter>& parameters = launch.kernel.parameters;
  if (launch.arguments.size() != parameters.size()) {
    refuse(Refusal::launch, "run.arguments", {named("entry", launch.kernel.name), named("takes", static_cast<i64>(parameters.size())),
                                              named("given", static_cast<i64>(launch.arguments.size()))});
  }
  i64 size = GUARD;
  for (const Argument& one : launch.arguments) {
    if (one.kind == Argument::array) size += (static_cast<i64>(one.data.size()) + ALLOCATION - 1) / ALLOCATION * ALLOCATION + GUARD;
  }
  launch.global = std::make_unique<Memory>(Space::global, GLOBAL_BASE, size, 1);
  Memory& memory = *launch.global;
  std::fill(memory.state.begin(), memory.state.end(), OUTSIDE);
  i64 start = GUARD;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    Argument& one = launch.arguments[i];
    if (parameters[i].is_struct) refuse(Refusal::launch, "run.struct", {named("name", one.name), named("entry", launch.kernel.name)});
    if (one.kind != Argument::array) continue;
    if (parameters[i].type != Type::u64 && parameters[i].type != Type::b64) {
      refuse(Refusal::launch, "run.number", {named("name", one.name), named("entry", launch.kernel.name)});
    }
    const i64 bytes = static_cast<i64>(one.data.size());
    memory.arrays.push_back({one.name, start, bytes, one.item_bytes, one.shape});
    std::memcpy(memory.bytes.data() + start, one.data.data(), bytes);
    std::memset(memory.state.data() + start, one.unwritten ? UNWRITTEN : WRITTEN, bytes);
    if (!one.unwritten) memory.known.emplace_back(static_cast<u32>(start), static_cast<u32>(start + bytes));
    one.number += GLOBAL_BASE + start;
    start += (bytes + ALLOCATION - 1) / ALLOCATION * ALLOCATION + GUARD;
  }
}

// ------------------------------------------------------------------------ counts of all lines

/// FFMA that ptxas puts in the place of an instruction, as counted on an H200.
int ffma_of(const Instruction& one) {
  if ((one.part(0) == "fma" || one.part(0) == "fused") && one.last() == "f32") return 1;
  return one.opcode == "div.rn.f32" ? 5 : one.opcode == "rcp.rn.f32" || one.opcode == "sqrt.rn.f32" ? 2 : 0;
}

int flop_of(const Instruction& one) {
  std::string_view type = one.last(), name = one.part(0);
  int each = type == "f32" || type == "f64" || type == "f16" || type == "bf16" ? 1 : type == "f16x2" || type == "bf16x2" ? 2 : 0;
  if (name == "fma" || name == "fused") return 2 * each;
  return name == "add" || name == "sub" || name == "mul" || name == "div" ? each : 0;
}

void write_counts(Launch& launch) {
  std::map<std::pair<std::string, int>, Counts> by_line;
  auto line_of = [&](const Instruction& one) -> Counts& {
    int file = one.place.file;
    return by_line[{file < 0 ? "" : files_of_kernel[file], one.place.line}];
  };
  for (const Instruction& one : launch.kernel.instructions) {
    const Counts& counts = launch.counts[one.index];
    bool some = false;
    for (i64 count : counts) some = some || count;
    if (some) {
      Counts& line = line_of(one);
      for (int i = 0; i < COUNTS; ++i) line[i] += counts[i];
    }
    if (launch.tally.barriers[one.index]) line_of(one)[barriers] += launch.tally.barriers[one.index];
  }
  for (const BasicBlock& block : launch.blocks) {
    for (int i = block.first; i < block.last + (block.terminator >= 0); ++i) {
      const Instruction& one = launch.kernel.instructions[i];
      bool guarded = one.guard >= 0 && i != block.terminator;
      i64 lanes = guarded ? launch.tally.guarded_lanes[i] : launch.tally.block_lanes[block.number];
      i64 warps = guarded ? launch.tally.guarded_warps[i] : launch.tally.block_warps[block.number];
      if (!lanes) continue;
      Counts& line = line_of(one);
      line[thread_instructions] += lanes;
      line[warp_instructions] += warps;
      line[flop] += flop_of(one) * lanes;
      line[ffma_thread_instructions] += ffma_of(one) * lanes;
    }
  }
  output.number(static_cast<u32>(by_line.size()));
  for (auto& [place, counts] : by_line) {
    output.text(place.first);
    output.integer(place.second);
    output.raw(counts.data(), sizeof counts);
  }
}

void write_trace(const Trace& trace) {
  output.number(static_cast<u32>(trace.arrays.size()));
  for (const Trace::Described& array : trace.arrays) {
    output.text(array.name);
    output.number(static_cast<u32>(array.space));
    output.number(static_cast<u32>(array.shape.size()));
    for (i64 side : array.shape) output.integer(side);
  }
  output.number(static_cast<u32>(trace.complete));
  output.number(static_cast<u32>(trace.entries.size()));
  output.raw(trace.entries.data(), trace.entries.size() * sizeof(Trace::Entry));
  output.number(static_cast<u32>(trace.products.size()));
  for (const Trace::Product& product : trace.products) {
    for (i32 number : {product.step, product.block, product.thread, product.line, product.window}) output.number(number);
    for (double value : {product.a, product.b, product.value}) output.number(value);
  }
  output.number(static_cast<u32>(trace.faults.size()));
  for (const Fault& fault : trace.faults) {
    for (i64 number : {fault.step, fault.block, fault.line, fault.window, fault.array, static_cast<i64>(fault.store)}) output.integer(number);
    output.number(static_cast<u32>(fault.threads.size()));
    for (i64 thread : fault.threads) output.integer(thread);
    output.number(static_cast<u32>(fault.elements.size()));
    for (i64 element : fault.elements) output.integer(element);
    write(fault.message);
  }
}

}  // namespace

Location Binding::here;
bool Binding::active = false;

void refuse(Refusal kind, std::string key, Values values) {
  bool placed = kind != Refusal::ptx || !Binding::active;
  for (const Value& value : values) placed = placed || value.kind == Value::place;
  if (!placed) values.push_back(named("at", Binding::here));
  output.bytes.clear();
  output.number(static_cast<u32>(kind));
  output.text(key);
  write(values);
#ifdef __wasm__
  __builtin_trap();
#else
  throw kind;
#endif
}

void simulate(const u8* data, std::size_t size) {
  Binding::active = false;
  output.bytes.clear();
  Reader in(data, size);
  Launch launch;
  read_launch(in, launch);
  place_arguments(launch);
  run(launch);
  output.number(static_cast<u32>(Refusal::none));
  output.number(static_cast<u32>(launch.global->arrays.size()));
  for (const NamedArray& array : launch.global->arrays) output.raw(launch.global->bytes.data() + array.start, array.bytes);
  output.number(static_cast<u32>(launch.hazards->found().size()));
  for (auto& [time, hazard] : launch.hazards->found()) write(hazard);
  output.number(static_cast<u32>(launch.hazards->warnings.size()));
  for (const Hazard& warning : launch.hazards->warnings) write(warning);
  write_counts(launch);
  output.number(static_cast<u32>(launch.trace != nullptr));
  if (launch.trace) write_trace(*launch.trace);
}

}  // namespace engine

/// Memory for what a client sends.
EXPORT(allocate) void* engine_allocate(std::size_t size) { return ::operator new(size); }

/// Runs a launch, and frees what was sent. A refusal ends the call; `result` then says why.
EXPORT(simulate) void engine_simulate(unsigned char* data, std::size_t size) {
  engine::simulate(data, size);
  ::operator delete(data);
}

EXPORT(result) const unsigned char* engine_result() { return engine::output.bytes.data(); }
EXPORT(result_size) std::size_t engine_result_size() { return engine::output.bytes.size(); }
