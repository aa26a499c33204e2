// Every memory access and multiply-add of a small launch, for stepping through.

#pragma once

#include "hazards.hpp"

namespace engine {

/// The first access of a block that a GPU would stop at.
struct Fault {
  i64 step, block, line, window, array;
  bool store;
  std::vector<i64> threads, elements;
  Message message;
};

/// Records every global and shared access, in the order they happen.
class Trace {
 public:
  static constexpr i64 LIMIT = 200'000;  // accesses, and multiply-adds

  struct Described {
    std::string name;
    Space space;
    std::vector<i64> shape;
  };
  struct Entry {
    i32 step, block, thread, line, array, element, store, window;
    double value;
  };
  struct Product {
    i32 step, block, thread, line, window;
    double a, b, value;
  };

  void fault(const Access& access, const std::vector<int>& lanes, const std::function<Message(int)>& say);
  void values(const Access& access, const Moved& values);
  void product(const Group& group, const Instruction& instruction, const Mask& mask, const std::vector<std::array<float, 2>>& factors,
               const std::vector<float>& results);

  std::vector<Described> arrays;
  std::vector<Entry> entries;
  std::vector<Product> products;
  std::vector<Fault> faults;  // in the order met
  bool complete = true;

 private:
  std::pair<i64, i64> locate(const Access& access, i64 position);
  i64 number_of(Space space, const NamedArray& array, int word_bytes);

  i64 step_ = 0;
};

}  // namespace engine
