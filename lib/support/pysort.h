// py_sort: CPython's list.sort, with the same sequence of comparisons. tinygrad sorts nodes by keys that are not a
// strict weak order (dtypes that differ only in a pointer's size are neither equal nor less), for which the result
// depends on the algorithm. Follows Objects/listobject.c of CPython 3.11.
#pragma once
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace tgc {

template <class T, class Less>
class PySorter {
 public:
  PySorter(std::vector<T>& items, Less less) : items_(items), is_less_(std::move(less)) {}

  void sort() {
    size_t n = items_.size();
    if (n < 2) return;
    size_t low = 0, remaining = n, min_run = min_run_length(n);
    do {
      bool descending;
      size_t length = count_run(low, n, descending);
      if (descending) reverse(low, low + length);
      if (length < min_run) {
        size_t forced_length = remaining <= min_run ? remaining : min_run;
        binary_insertion(low, low + forced_length, low + length);
        length = forced_length;
      }
      merge_before_run(length, n);
      pending_runs_.push_back({low, length, 0});
      low += length;
      remaining -= length;
    } while (remaining);
    while (pending_runs_.size() > 1) {
      size_t at = pending_runs_.size() - 2;
      if (at > 0 && pending_runs_[at - 1].length < pending_runs_[at + 1].length) at--;
      merge_at(at);
    }
  }

 private:
  struct Run {
    size_t base, length;
    int power;
  };
  static constexpr ptrdiff_t kMinGallop = 7;

  static size_t min_run_length(size_t n) {
    size_t odd = 0;
    while (n >= 64) {
      odd |= n & 1;
      n >>= 1;
    }
    return n + odd;
  }

  void reverse(size_t low, size_t high) {
    for (; low + 1 < high; low++, high--) std::swap(items_[low], items_[high - 1]);
  }

  size_t count_run(size_t low, size_t high, bool& descending) {
    descending = false;
    if (low + 1 == high) return 1;
    size_t n = 2;
    descending = is_less_(items_[low + 1], items_[low]);
    for (size_t i = low + 2; i < high && is_less_(items_[i], items_[i - 1]) == descending; i++) n++;
    return n;
  }

  void binary_insertion(size_t low, size_t high, size_t start) {
    if (low == start) start++;
    for (; start < high; start++) {
      T pivot = items_[start];
      size_t l = low, r = start;
      do {
        size_t middle = l + ((r - l) >> 1);
        if (is_less_(pivot, items_[middle])) r = middle;
        else l = middle + 1;
      } while (l < r);
      std::move_backward(items_.begin() + ptrdiff_t(l), items_.begin() + ptrdiff_t(start),
                         items_.begin() + ptrdiff_t(start) + 1);
      items_[l] = pivot;
    }
  }

  // Returns the merge tree depth of the boundary between the runs [s1, s1+n1) and [s1+n1, s1+n1+n2) of n items (Munro
  // and Wild's powersort).
  static int power(size_t s1, size_t n1, size_t n2, size_t n) {
    size_t a = 2 * s1 + n1, b = a + n1 + n2;
    int result = 0;
    for (;;) {
      ++result;
      if (a >= n) {
        a -= n;
        b -= n;
      } else if (b >= n) {
        return result;
      }
      a <<= 1;
      b <<= 1;
    }
  }

  void merge_before_run(size_t n2, size_t total) {
    if (pending_runs_.empty()) return;
    size_t s1 = pending_runs_.back().base, n1 = pending_runs_.back().length;
    int p = power(s1, n1, n2, total);
    while (pending_runs_.size() > 1 && pending_runs_[pending_runs_.size() - 2].power > p)
      merge_at(pending_runs_.size() - 2);
    pending_runs_.back().power = p;
  }

  // Returns the position of `key` in the sorted a[0..n), before equal items.
  size_t gallop_left(const T& key, const T* a, ptrdiff_t n, ptrdiff_t hint) {
    return gallop([&](const T& x) { return is_less_(x, key); }, a, n, hint);
  }
  // Returns the position of `key` in the sorted a[0..n), behind equal items.
  size_t gallop_right(const T& key, const T* a, ptrdiff_t n, ptrdiff_t hint) {
    return gallop([&](const T& x) { return !is_less_(key, x); }, a, n, hint);
  }
  // Returns how many items of a[0..n) satisfy `before`; they must be the first ones. Searches outward from `hint` in
  // growing steps, then by binary search.
  template <class Before>
  size_t gallop(Before before, const T* a, ptrdiff_t n, ptrdiff_t hint) {
    ptrdiff_t near_offset = 0, far_offset = 1;
    bool right = before(a[hint]);
    ptrdiff_t most = right ? n - hint : hint + 1;
    while (far_offset < most && before(a[right ? hint + far_offset : hint - far_offset]) == right) {
      near_offset = far_offset;
      far_offset = (far_offset << 1) + 1;
    }
    far_offset = std::min(far_offset, most);
    ptrdiff_t begin = (right ? hint + near_offset : hint - far_offset) + 1,
              end = right ? hint + far_offset : hint - near_offset;
    while (begin < end) {
      ptrdiff_t middle = begin + ((end - begin) >> 1);
      if (before(a[middle])) begin = middle + 1;
      else end = middle;
    }
    return size_t(end);
  }

  void merge_at(size_t i) {
    size_t base1 = pending_runs_[i].base, n1 = pending_runs_[i].length, base2 = pending_runs_[i + 1].base,
           n2 = pending_runs_[i + 1].length;
    pending_runs_[i].length = n1 + n2;
    pending_runs_.erase(pending_runs_.begin() + ptrdiff_t(i) + 1);
    size_t skip = gallop_right(items_[base2], &items_[base1], ptrdiff_t(n1), 0);
    base1 += skip;
    n1 -= skip;
    if (n1 == 0) return;
    n2 = gallop_left(items_[base1 + n1 - 1], &items_[base2], ptrdiff_t(n2), ptrdiff_t(n2) - 1);
    if (n2 == 0) return;
    if (n1 <= n2) merge_low(base1, ptrdiff_t(n1), base2, ptrdiff_t(n2));
    else merge_high(base1, ptrdiff_t(n1), base2, ptrdiff_t(n2));
  }

  enum class StepResult { Left, Right, All };
  enum class GallopResult { Far, Near, All };

  // The loop of both merges: step() moves one element at a time until min_gallop elements in a row are from the same
  // run; then gallop_step() gallops as long as it moves at least kMinGallop elements at once.
  template <class Step, class Leap>
  void merge(Step step, Leap gallop_step) {
    ptrdiff_t min_gallop = min_gallop_;
    for (;;) {
      StepResult winner = StepResult::Left;
      for (ptrdiff_t in_a_row = 0; in_a_row < min_gallop;) {
        StepResult took = step();
        if (took == StepResult::All) return;
        in_a_row = took == winner ? in_a_row + 1 : 1;
        winner = took;
      }
      ++min_gallop;
      GallopResult result;
      do {
        min_gallop -= min_gallop > 1;
        min_gallop_ = min_gallop;
        result = gallop_step();
        if (result == GallopResult::All) return;
      } while (result == GallopResult::Far);
      ++min_gallop;
      min_gallop_ = min_gallop;
    }
  }

  void merge_low(size_t base1, ptrdiff_t n1, size_t base2, ptrdiff_t n2) {
    std::vector<T> left(items_.begin() + ptrdiff_t(base1), items_.begin() + ptrdiff_t(base1) + n1);
    T* out = &items_[base1];
    const T* p1 = left.data();
    const T* p2 = &items_[base2];
    auto end_of_right = [&] {
      for (; n1 > 0; n1--) *out++ = *p1++;
    };
    auto last_of_left = [&] {  // if n1 == 1, the last element of the left run is the greatest of all
      for (; n2 > 0; n2--) *out++ = *p2++;
      *out = *p1;
    };
    auto step = [&] {
      if (is_less_(*p2, *p1)) {
        *out++ = *p2++;
        return --n2 == 0 ? end_of_right(), StepResult::All : StepResult::Right;
      }
      *out++ = *p1++;
      return --n1 == 1 ? last_of_left(), StepResult::All : StepResult::Left;
    };
    auto gallop_step = [&] {
      ptrdiff_t k1 = ptrdiff_t(gallop_right(*p2, p1, n1, 0));
      for (ptrdiff_t j = 0; j < k1; j++) *out++ = *p1++;
      n1 -= k1;
      if (k1 && n1 == 1) return last_of_left(), GallopResult::All;
      if (n1 == 0) return end_of_right(), GallopResult::All;  // happens only if `less` is inconsistent
      *out++ = *p2++;
      if (--n2 == 0) return end_of_right(), GallopResult::All;
      ptrdiff_t k2 = ptrdiff_t(gallop_left(*p1, p2, n2, 0));
      for (ptrdiff_t j = 0; j < k2; j++) *out++ = *p2++;
      n2 -= k2;
      if (k2 && n2 == 0) return end_of_right(), GallopResult::All;
      *out++ = *p1++;
      if (--n1 == 1) return last_of_left(), GallopResult::All;
      return k1 >= kMinGallop || k2 >= kMinGallop ? GallopResult::Far : GallopResult::Near;
    };
    *out++ = *p2++;  // the second run begins with the least element (merge_at)
    if (--n2 == 0) return end_of_right();
    if (n1 == 1) return last_of_left();
    merge(step, gallop_step);
  }

  void merge_high(size_t base1, ptrdiff_t n1, size_t base2, ptrdiff_t n2) {
    std::vector<T> right(items_.begin() + ptrdiff_t(base2), items_.begin() + ptrdiff_t(base2) + n2);
    T* out = &items_[base2] + n2 - 1;
    T* a1 = &items_[base1];
    T* p1 = a1 + n1 - 1;
    const T* b2 = right.data();
    const T* p2 = b2 + n2 - 1;
    auto end_of_left = [&] {
      for (ptrdiff_t j = n2; j-- > 0;) *out-- = b2[j];
    };
    auto first_of_right = [&] {  // if n2 == 1, the first element of the right run is the least of all
      for (; n1 > 0; n1--) *out-- = *p1--;
      *out = *p2;
    };
    auto step = [&] {
      if (is_less_(*p2, *p1)) {
        *out-- = *p1--;
        return --n1 == 0 ? end_of_left(), StepResult::All : StepResult::Left;
      }
      *out-- = *p2--;
      return --n2 == 1 ? first_of_right(), StepResult::All : StepResult::Right;
    };
    auto gallop_step = [&] {
      ptrdiff_t k1 = n1 - ptrdiff_t(gallop_right(*p2, a1, n1, n1 - 1));
      for (ptrdiff_t j = 0; j < k1; j++) *out-- = *p1--;
      n1 -= k1;
      if (k1 && n1 == 0) return end_of_left(), GallopResult::All;
      *out-- = *p2--;
      if (--n2 == 1) return first_of_right(), GallopResult::All;
      ptrdiff_t k2 = n2 - ptrdiff_t(gallop_left(*p1, b2, n2, n2 - 1));
      for (ptrdiff_t j = 0; j < k2; j++) *out-- = *p2--;
      n2 -= k2;
      if (k2 && n2 == 1) return first_of_right(), GallopResult::All;
      if (n2 == 0) return end_of_left(), GallopResult::All;  // happens only if `less` is inconsistent
      *out-- = *p1--;
      if (--n1 == 0) return end_of_left(), GallopResult::All;
      return k1 >= kMinGallop || k2 >= kMinGallop ? GallopResult::Far : GallopResult::Near;
    };
    *out-- = *p1--;  // the first run ends with the greatest element (merge_at)
    if (--n1 == 0) return end_of_left();
    if (n2 == 1) return first_of_right();
    merge(step, gallop_step);
  }

  std::vector<T>& items_;
  Less is_less_;
  std::vector<Run> pending_runs_;
  ptrdiff_t min_gallop_ = kMinGallop;
};

template <class T, class Less>
void py_sort(std::vector<T>& items, Less less) {
  PySorter<T, Less>(items, std::move(less)).sort();
}

}  // namespace tgc
