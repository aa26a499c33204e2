#include "async_copies.hpp"

#include "shared_races.hpp"
#include "trace.hpp"

namespace engine {

void Copies::start(const Group& group) {
  pending_.clear();
  committed_.assign(group.chunks * CHUNK, 0);
}

void Copies::commit(const Mask& mask) {
  each_lane(mask, [&](int lane) { ++committed_[lane]; });
}

void Copies::land(Group& group, const Mask& mask, std::optional<i64> allowed) {
  std::vector<Pending> still;
  for (Pending& copy : pending_) {
    Pending rest{{}, {}, copy.words, {}, {}};
    std::vector<int> lanes;
    std::vector<u32> positions;
    for (std::size_t i = 0; i < copy.lanes.size(); ++i) {
      int lane = copy.lanes[i];
      bool done = has(mask, lane) && (!allowed || copy.ticket[i] < committed_[lane] - *allowed);
      if (!done) {
        rest.lanes.push_back(lane);
        rest.ticket.push_back(copy.ticket[i]);
      }
      for (int word = 0; word < copy.words; ++word) {
        u32 position = copy.positions[i * copy.words + word], value = copy.values[i * copy.words + word];
        if (!done) {
          rest.positions.push_back(position);
          rest.values.push_back(value);
          continue;
        }
        std::memcpy(group.batch.shared.bytes.data() + position, &value, WORD_BYTES);
        mark_written(group.batch.shared, position, WORD_BYTES);
        lanes.push_back(lane);
        positions.push_back(position);
      }
    }
    if (!lanes.empty() && group.launch.races) group.launch.races->landed(group, lanes, positions);
    if (!rest.lanes.empty()) still.push_back(std::move(rest));
  }
  pending_ = std::move(still);
}

namespace {

/// cp.async: the two ends of a copy, of 4, 8 or 16 bytes a lane.
class CopyAsync : public Operation {
 public:
  CopyAsync(Group& group, const Instruction& one, int bytes)
      : bytes_(bytes), words_(bytes / WORD_BYTES), to_(group, one, 0), from_(group, one, 1),
        read_{&one, Space::global, Kind::copy_read, WORD_BYTES, words_, true, false},
        write_{&one, Space::shared, Kind::copy_write, WORD_BYTES, words_, true, false},
        read_counter_(group.launch, read_), write_counter_(group.launch, write_) {
    if (one.operands.size() <= 3) return;
    // The fourth operand says how many bytes are read, or is a predicate that holds where none are.
    const Operand& operand = one.operands[3];
    bool predicate = (operand.kind == Operand::register_ || operand.kind == Operand::negated) && group.registers.width(operand.reg) == 0;
    if (predicate) {
      ignored_ = group.registers.row(operand.reg);
      negated_ = operand.kind == Operand::negated;
    } else {
      kept_ = source(group, operand, Type::u32, before_);
    }
  }

  void run(Group& group, const Mask& mask) override {
    run_steps(before_, group.chunks);
    to_.find(group);
    Access write = begin(group, write_, write_counter_, mask);
    std::vector<u32> data(static_cast<std::size_t>(group.lanes) * words_);
    // Bytes past the kept ones are filled with zeros and their source is not read.
    Mask reading = mask;
    std::vector<u32> kept(group.lanes, bytes_);
    each_lane(mask, [&](int lane) {
      if (kept_.base) std::memcpy(&kept[lane], group.registers.lane(kept_, lane, 4), 4);
      if (ignored_.base) {
        bool holds = reinterpret_cast<u32*>(ignored_.at(lane / CHUNK))[lane % CHUNK / WARP] >> lane % WARP & 1;
        kept[lane] = holds != negated_ ? 0 : bytes_;
      }
      if (kept[lane] == 0) reading[lane / WARP] &= ~(1u << lane % WARP);
    });
    Launch& launch = group.launch;
    auto told = [&](const Access& access) {
      if (!launch.trace) return;
      Moved moved(words_);
      for (int lane : access.lanes) {
        for (int word = 0; word < words_; ++word) moved[word].push_back(std::bit_cast<float>(data[lane * words_ + word]));
      }
      launch.trace->values(access, moved);
    };
    if (any(reading)) {
      from_.find(group);
      Access read = begin(group, read_, read_counter_, reading);
      for (std::size_t i = 0; i < read.lanes.size(); ++i) {
        int lane = read.lanes[i];
        for (int word = 0; word < words_; ++word) {
          if (static_cast<u32>(word * WORD_BYTES) >= kept[lane]) continue;
          std::memcpy(&data[lane * words_ + word], read.memory.bytes.data() + read.positions[i] + word * WORD_BYTES, WORD_BYTES);
        }
      }
      told(read);
    }
    told(write);
    if (launch.races) {
      std::vector<std::vector<u64>> stored(words_);
      for (int lane : write.lanes) {
        for (int word = 0; word < words_; ++word) stored[word].push_back(data[lane * words_ + word]);
      }
      launch.races->values(write, stored);
    }
    Copies::Pending copy{write.lanes, {}, words_, {}, {}};
    for (std::size_t i = 0; i < write.lanes.size(); ++i) {
      int lane = write.lanes[i];
      copy.ticket.push_back(group.copies->committed(lane));
      for (int word = 0; word < words_; ++word) {
        copy.positions.push_back(write.positions[i] + word * WORD_BYTES);
        copy.values.push_back(data[lane * words_ + word]);
      }
    }
    group.copies->add(std::move(copy));
  }

 private:
  int bytes_, words_;
  AddressOperand to_, from_;
  Site read_, write_;
  RequestCounter read_counter_, write_counter_;
  Row kept_, ignored_;
  bool negated_ = false;
  std::vector<Step> before_;
};

class Commit : public Operation {
  void run(Group& group, const Mask& mask) override { group.copies->commit(mask); }
};

/// cp.async.wait_group N: all but each lane's last N committed groups become visible.
class Wait : public Operation {
 public:
  explicit Wait(std::optional<i64> allowed) : allowed_(allowed) {}
  void run(Group& group, const Mask& mask) override { group.copies->land(group, mask, allowed_); }

 private:
  std::optional<i64> allowed_;
};

}  // namespace

std::unique_ptr<Operation> bind_copy(Group& group, const Instruction& one) {
  std::string_view opcode = one.opcode;
  if (opcode == "cp.async.commit_group") return std::make_unique<Commit>();
  if (opcode == "cp.async.wait_all") return std::make_unique<Wait>(std::optional<i64>{});
  if (opcode == "cp.async.wait_group") {
    if (one.operands.size() != 1 || one.operands[0].kind != Operand::immediate) refuse(Refusal::ptx, "run.wait_group", {named("place", one.place)});
    return std::make_unique<Wait>(one.operands[0].value);
  }
  bool copy = one.parts.size() >= 5 && one.parts[1] == "async" && (one.parts[2] == "ca" || one.parts[2] == "cg") &&
              one.parts[3].starts_with("shared") && one.parts[4] == "global";
  if (!copy || one.operands.size() < 3 || one.operands.size() > 4) unknown(opcode);
  const Operand& size = one.operands[2];
  if (size.kind != Operand::immediate) refuse(Refusal::ptx, "run.copy_size", {named("place", one.place)});
  if (size.value != 4 && size.value != 8 && size.value != 16) unknown(opcode);
  return std::make_unique<CopyAsync>(group, one, static_cast<int>(size.value));
}

}  // namespace engine
