#include "shared_races.hpp"

#include <algorithm>

namespace engine {

namespace {

constexpr std::size_t MOST_WAITING = 32 << 20;  // bytes of reads put by
constexpr std::size_t MOST_RANGES = 32;

/// Bytes of the narrowest load or store that may go to shared memory, at most 4.
int smallest_shared_access(const Kernel& kernel) {
  int narrowest = 4;
  for (const Instruction& one : kernel.instructions) {
    std::string_view name = one.part(0);
    if (name != "ld" && name != "st" && name != "atom" && name != "red") continue;
    if (one.has("global") || one.has("local") || one.has("param")) continue;
    Type type = type_named(one.last());
    if (type != Type::none && type != Type::pred) narrowest = std::min(narrowest, bytes_of(type));
  }
  return narrowest;
}

}  // namespace

SharedRaces::SharedRaces(Launch& launch) : launch_(launch), word_bytes_(smallest_shared_access(launch.kernel)) {}

bool SharedRaces::same_stretch(const Epochs& one, const Epochs& other) const {
  if (one == other) return true;
  for (std::size_t slot = 0; slot < one->size(); ++slot) {
    if ((*one)[slot] == (*other)[slot]) return true;
  }
  return false;
}

/// Forgets what other blocks did.
void SharedRaces::look_at(Group& group) {
  Memory& memory = group.batch.shared;
  if (memory_ == &memory && blocks_ == group.batch.numbers) return;
  memory_ = &memory;
  blocks_ = group.batch.numbers;
  words_.assign(memory.bytes.size() / word_bytes_, {});
  in_flight_ = 0;
  reads_.clear();
  waiting_ = 0;
  writes_.clear();
  last_write_ = last_read_ = std::make_shared<std::vector<i64>>(group.batch.slots, -1);
}

bool SharedRaces::quiet(Group& group, u32 least, u32 most) {
  look_at(group);
  if (in_flight_) return false;
  if (!same_stretch(last_write_, group.batch.epoch)) return true;
  for (Range range : writes_) {
    if (least < range.most && range.least < most) return false;
  }
  return true;
}

void SharedRaces::put_by(Group& group, const Site& site, const Mask& mask, const std::vector<u8>& shapes, u32 least, u32 most) {
  if (!reads_.empty() && reads_.back().epoch != group.batch.epoch) forget_reads(group.batch.epoch);
  Use& read = reads_.emplace_back();
  read.group = &group;
  read.site = &site;
  read.epoch = group.batch.epoch;
  read.warp_epoch = group.warp_epoch;
  read.range = {least, most};
  read.mask = mask;
  read.shapes = shapes;
  read.places.reserve(2 * group.warps);
  for (int warp = 0; warp < group.warps; ++warp) {
    if (mask[warp] == 0) continue;
    const u32* places = group.positions.data() + warp * WARP;
    read.places.insert(read.places.end(), places, places + (shapes[warp] == 0 ? WARP : 1));
  }
  waiting_ += 4 * read.places.size() + 8 * group.warps;
  if (waiting_ > MOST_WAITING) note_reads(group.batch.epoch, {0, ~0u});
}

void SharedRaces::unpack(Use& read) const {
  if (read.mask.empty()) return;
  const u32* at = read.places.data();
  for (std::size_t warp = 0; warp < read.mask.size(); ++warp) {
    if (read.mask[warp] == 0) continue;
    bool scattered = read.shapes[warp] == 0, contiguous = read.shapes[warp] == 2;
    for (u32 bits = read.mask[warp]; bits; bits &= bits - 1) {
      int lane = std::countr_zero(bits);
      read.lanes.push_back(static_cast<int>(warp) * WARP + lane);
      read.positions.push_back(scattered ? at[lane] : at[0] + (contiguous ? lane * read.site->width() : 0));
    }
    at += scattered ? WARP : 1;
  }
  read.mask.clear();
}

SharedRaces::Use SharedRaces::use_of(const Access& access) const {
  Use use{&access.group, &access.site, access.lanes, access.positions, access.group.batch.epoch, access.group.warp_epoch, {~0u, 0}, {}, {}, {}};
  for (std::size_t i = 0; i < use.lanes.size(); ++i) {
    u32 place = use.positions[i] - static_cast<u32>(access.group.slot(use.lanes[i]) * access.memory.stride);
    use.range.least = std::min(use.range.least, place);
    use.range.most = std::max(use.range.most, place + access.site.width());
  }
  return use;
}

void SharedRaces::access(const Access& access) {
  look_at(access.group);
  ++serial_;
  running_ = &access.mask;
  Use use = use_of(access);
  if (access.site.kind == Kind::load) {
    check_read(use);
    if (!reads_.empty() && reads_.back().epoch != use.epoch) forget_reads(use.epoch);
    waiting_ += 8 * use.lanes.size();
    reads_.push_back(std::move(use));
    if (waiting_ > MOST_WAITING) note_reads(access.group.batch.epoch, {0, ~0u});
    return;
  }
  note_reads(use.epoch, use.range);
  check_write(use);
  note_range(use.epoch, use.range);
}

/// Notes where the present stretch has written.
void SharedRaces::note_range(const Epochs& epoch, Range range) {
  if (!same_stretch(last_write_, epoch)) writes_.clear();
  last_write_ = epoch;
  for (Range& one : writes_) {
    if (range.least <= one.most && one.least <= range.most) {
      one = {std::min(one.least, range.least), std::max(one.most, range.most)};
      return;
    }
  }
  if (writes_.size() < MOST_RANGES) {
    writes_.push_back(range);
  } else {
    writes_[0] = {std::min(writes_[0].least, range.least), std::max(writes_[0].most, range.most)};
  }
}

void SharedRaces::landed(Group& group, const std::vector<int>& lanes, const std::vector<u32>& positions) {
  look_at(group);
  Range range{~0u, 0};
  for (int word = 0; word < WORD_BYTES / word_bytes_; ++word) {
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      Word& one = words_[positions[i] / word_bytes_ + word];
      --one.in_flight;
      --in_flight_;
      one.writer = group.thread(lanes[i]);
      one.write_epoch = static_cast<i32>((*group.batch.epoch)[group.slot(lanes[i])]);
      one.write_warp_epoch = static_cast<i32>((*group.warp_epoch)[lanes[i]]);
      u32 place = positions[i] - static_cast<u32>(group.slot(lanes[i]) * group.batch.shared.stride);
      range = {std::min(range.least, place), std::max(range.most, place + WORD_BYTES)};
    }
  }
  note_range(group.batch.epoch, range);
}

std::vector<u32> SharedRaces::words_of(const Use& use, int number) const {
  std::vector<u32> index;
  index.reserve(use.positions.size());
  for (u32 position : use.positions) index.push_back(position / word_bytes_ + number);
  return index;
}

/// Where another thread wrote a word in the same stretch.
std::vector<u8> SharedRaces::written_before(const Use& use, const std::vector<u32>& index) const {
  std::vector<u8> wrong(index.size());
  for (std::size_t i = 0; i < index.size(); ++i) {
    const Word& word = words_[index[i]];
    if (word.write_epoch != use.epoch_of(i) || (use.for_others() && word.atomic)) continue;
    int thread = use.thread(i);
    wrong[i] = word.writer != thread &&
               (word.writer / WARP != thread / WARP || use.group->in_one_stretch(use.lanes[i], word.writer, word.write_warp_epoch));
  }
  return wrong;
}

void SharedRaces::check_read(const Use& use) {
  const int count = use.site->width() / word_bytes_;
  if (in_flight_) {
    for (int number = 0; number < count; ++number) {
      std::vector<u32> index = words_of(use, number);
      for (std::size_t i = 0; i < index.size(); ++i) {
        if (words_[index[i]].in_flight <= 0) continue;
        Access access{*use.group, *use.site, use.group->batch.shared, use.group->alive, use.group->addresses.data(), {}, {}};
        launch_.hazards->in_flight(access, use.lanes[i], static_cast<i64>(index[i]) * word_bytes_);
        break;
      }
    }
  }
  if (!same_stretch(last_write_, use.epoch)) return;
  for (int number = 0; number < count; ++number) {
    std::vector<u32> index = words_of(use, number);
    std::vector<int> other, sites;
    for (u32 word : index) {
      other.push_back(words_[word].writer);
      sites.push_back(words_[word].write_site);
    }
    report(use, index, written_before(use, index), other, sites);
  }
}

/// Drops the reads that a barrier has ordered before everything to come.
void SharedRaces::forget_reads(const Epochs& epoch) {
  std::erase_if(reads_, [&](const Use& read) { return !same_stretch(read.epoch, epoch); });
  if (reads_.empty()) waiting_ = 0;
}

/// Notes reads word by word, if one of them touches the bytes of a range.
void SharedRaces::note_reads(const Epochs& epoch, Range range) {
  forget_reads(epoch);
  auto touches = [&](const Use& read) { return read.range.least < range.most && range.least < read.range.most; };
  if (std::none_of(reads_.begin(), reads_.end(), touches)) return;
  for (Use& read : reads_) {
    unpack(read);
    for (int number = 0; number < read.site->width() / word_bytes_; ++number) note_read(read, words_of(read, number));
    auto later = std::make_shared<std::vector<i64>>(*last_read_);
    for (std::size_t slot = 0; slot < later->size(); ++slot) (*later)[slot] = std::max((*later)[slot], (*read.epoch)[slot]);
    last_read_ = later;
  }
  reads_.clear();
  waiting_ = 0;
}

/// Notes who reads some words. Lanes that read one word do so at once: what all of them find is read
/// before any of them is noted.
void SharedRaces::note_read(const Use& use, const std::vector<u32>& index) {
  const std::size_t count = index.size();
  std::vector<u8> stale(count);
  std::vector<int> thread(count), before(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Word& word = words_[index[i]];
    thread[i] = use.thread(i);
    stale[i] = word.read_epoch != use.epoch_of(i) ||
               (!word.several_warps && word.reader / WARP == thread[i] / WARP && word.reader >= 0 && word.read_warp_epoch != use.warp_epoch_of(i));
    before[i] = stale[i] ? thread[i] : word.reader;
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (stale[i]) words_[index[i]].several_readers = words_[index[i]].several_warps = false;
  }
  for (std::size_t i = 0; i < count; ++i) {
    Word& word = words_[index[i]];
    word.reader = thread[i];
    word.read_epoch = static_cast<i32>(use.epoch_of(i));
    word.read_warp_epoch = static_cast<i32>(use.warp_epoch_of(i));
    word.read_site = use.site->instruction->index;
  }
  std::vector<int> newest(count);
  for (std::size_t i = 0; i < count; ++i) newest[i] = words_[index[i]].reader;
  const std::pair<const std::vector<int>*, const std::vector<int>*> rounds[] = {{&thread, &before}, {&newest, &thread}};
  for (auto [one, other] : rounds) {
    std::vector<u8> first(count);
    for (std::size_t i = 0; i < count; ++i) {
      bool several = (*one)[i] != (*other)[i];
      if (several) words_[index[i]].several_readers = true;
      first[i] = several && !words_[index[i]].several_warps;
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (first[i]) words_[index[i]].other_reader = (*other)[i];
    }
    for (std::size_t i = 0; i < count; ++i) {
      if ((*one)[i] / WARP == (*other)[i] / WARP) continue;
      words_[index[i]].several_warps = true;
      words_[index[i]].other_reader = (*other)[i];
    }
  }
}

void SharedRaces::check_write(const Use& use) {
  bool written = same_stretch(last_write_, use.epoch), read = same_stretch(last_read_, use.epoch);
  const Kind kind = use.site->kind;
  for (int number = 0; number < use.site->width() / word_bytes_; ++number) {
    std::vector<u32> index = words_of(use, number);
    const std::size_t count = index.size();
    std::vector<int> other(count), sites(count);
    if (written) {
      for (std::size_t i = 0; i < count; ++i) {
        other[i] = words_[index[i]].writer;
        sites[i] = words_[index[i]].write_site;
      }
      report(use, index, written_before(use, index), other, sites);
    }
    if (read) {
      std::vector<u8> wrong(count);
      for (std::size_t i = 0; i < count; ++i) {
        const Word& word = words_[index[i]];
        int thread = use.thread(i), reader = word.reader;
        // Nobody stands for a reader of no warp.
        bool same_warp = reader >= 0 && reader / WARP == thread / WARP;
        bool apart = word.several_warps || !same_warp;
        bool near = use.group->in_one_stretch(use.lanes[i], std::max(reader, 0), word.read_warp_epoch) && (word.several_readers || reader != thread);
        wrong[i] = (apart || near) && word.read_epoch == use.epoch_of(i);
        // Of several readers name one who is somebody else, best of another warp.
        bool alike = (same_warp && word.several_warps) || (reader == thread && word.several_readers);
        other[i] = alike ? word.other_reader : reader;
        sites[i] = word.read_site;
      }
      report(use, index, wrong, other, sites);
    }
    for (std::size_t i = 0; i < count; ++i) {
      Word& word = words_[index[i]];
      word.writer = use.thread(i);
      word.write_epoch = static_cast<i32>(use.epoch_of(i));
      word.write_warp_epoch = static_cast<i32>(use.warp_epoch_of(i));
      word.write_site = use.site->instruction->index;
      word.atomic = kind == Kind::atomic;
      if (kind == Kind::copy_write) ++word.in_flight;
    }
    if (kind == Kind::copy_write) in_flight_ += static_cast<i64>(count);
    if (kind != Kind::atomic) meet(use, number, index);
  }
}

/// Sees to lanes of one access that write one word, as others of its lanes do.
void SharedRaces::meet(const Use& use, int number, const std::vector<u32>& index) {
  if (together_serial_ != serial_) together_.clear();
  const std::size_t count = index.size();
  std::vector<int> last(count), sites(count);
  std::vector<u8> apart(count);
  bool lost = false, across = false;
  for (std::size_t i = 0; i < count; ++i) {
    last[i] = words_[index[i]].writer;
    sites[i] = words_[index[i]].write_site;
    lost = lost || last[i] != use.thread(i);
    apart[i] = last[i] / WARP != use.thread(i) / WARP;
    across = across || apart[i];
  }
  if (!lost) return;
  report(use, index, apart, last, sites);
  if (across) return;
  together_serial_ = serial_;
  together_.push_back({use, number, last, sites});
}

/// Tells of lanes of one warp that stored different values to one word: of those that store to a
/// word, the last stays.
void SharedRaces::values(const Access& access, const std::vector<std::vector<u64>>& stored) {
  running_ = &access.mask;
  if (together_serial_ != serial_ || access.site.space != Space::shared) return;
  for (const Met& met : together_) {
    std::vector<u32> index = words_of(met.use, met.number);
    int byte = met.number * word_bytes_, element = byte / access.site.word_bytes, shift = 8 * (byte % access.site.word_bytes);
    u64 all = (1ull << 8 * word_bytes_) - 1;
    std::map<u32, u64> stays;
    for (std::size_t i = 0; i < index.size(); ++i) stays[index[i]] = stored[element][i] >> shift & all;
    std::vector<u8> wrong(index.size());
    for (std::size_t i = 0; i < index.size(); ++i) {
      wrong[i] = met.last[i] != met.use.thread(i) && (stored[element][i] >> shift & all) != stays[index[i]];
    }
    report(met.use, index, wrong, met.last, met.sites, true);
  }
}

/// Reports a race where one is wrong, best one between threads of different warps.
void SharedRaces::report(const Use& use, const std::vector<u32>& index, const std::vector<u8>& wrong, const std::vector<int>& other,
                         const std::vector<int>& sites, bool together) {
  std::size_t first = index.size();
  for (std::size_t i = 0; i < index.size(); ++i) {
    if (!wrong[i]) continue;
    bool apart = use.thread(i) / WARP != other[i] / WARP;
    if (first == index.size() || apart) first = i;
    if (apart) break;
  }
  if (first == index.size()) return;
  Access access{*use.group, *use.site, use.group->batch.shared, *running_, use.group->addresses.data(), {}, {}};
  launch_.hazards->race(access, use.lanes[first], static_cast<i64>(index[first]) * word_bytes_, other[first],
                        launch_.kernel.instructions[sites[first]], together);
}

}  // namespace engine
