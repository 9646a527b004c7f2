#include "backends/cuda/kernel_case.h"

namespace ringside::test {
namespace {

void products(std::vector<KernelCase>& cases) {
  const struct {
    std::int64_t m, n, k;
  } sizes[] = {{1, 1, 1}, {5, 3, 7}, {64, 10, 129}, {33, 70, 1}, {2, 3, 0}, {130, 65, 300}};
  for (const auto& s : sizes) {
    for (const bool transpose_a : {false, true}) {
      for (const bool transpose_b : {false, true}) {
        GemmOptions options;
        options.transpose_a = transpose_a;
        options.transpose_b = transpose_b;
        options.alpha = 0.7;
        options.beta = transpose_a ? 0.5 : 0;
        cases.push_back(
            {"gemm",
             std::to_string(s.m) + "x" + std::to_string(s.k) + "x" + std::to_string(s.n) +
                 (transpose_a ? " a transposed" : "") + (transpose_b ? " b transposed" : ""),
             {random({s.m, s.n}), random(transpose_a ? Shape{s.k, s.m} : Shape{s.m, s.k}),
              random(transpose_b ? Shape{s.n, s.k} : Shape{s.k, s.n})},
             [options](Kernels& k, LaunchContext& c, Arrays a) {
               k.gemm(c, a[0], a[1], a[2], options);
             },
             kSum});
      }
    }
  }
  for (const Shape& y : {Shape{1, 1}, Shape{7, 10}, Shape{64, 128}, Shape{3, 1025}}) {
    cases.push_back({"add_bias",
                     to_string(y),
                     {random(y), random({y[1]})},
                     [](Kernels& k, LaunchContext& c, Arrays a) { k.add_bias(c, a[0], a[1]); }});
    cases.push_back({"sum_rows",
                     to_string(y),
                     {random({y[1]}), random(y)},
                     [](Kernels& k, LaunchContext& c, Arrays a) { k.sum_rows(c, a[0], a[1]); }});
  }
}

void embeddings(std::vector<KernelCase>& cases) {
  const struct {
    std::int64_t rows, width, count;
  } sizes[] = {{1, 1, 1}, {65, 48, 100}, {7, 33, 513}, {1000, 4, 300}};
  for (const auto& s : sizes) {
    const std::string name =
        std::to_string(s.count) + " of " + std::to_string(s.rows) + "x" + std::to_string(s.width);
    cases.push_back(
        {"embedding",
         name,
         {random({s.count, s.width}), random({s.rows, s.width}), indices({s.count}, s.rows)},
         [](Kernels& k, LaunchContext& c, Arrays a) { k.embedding(c, a[0], a[1], a[2]); }});
    cases.push_back(
        {"embedding_backward",
         name,
         {random({s.rows, s.width}), random({s.count, s.width}), indices({s.count}, s.rows)},
         [](Kernels& k, LaunchContext& c, Arrays a) {
           k.embedding_backward(c, a[0], a[1], a[2]);
         }});
  }
}

void attentions(std::vector<KernelCase>& cases) {
  const struct {
    std::int64_t batch, heads, queries, keys, depth;
    bool causal;
  } sizes[] = {{1, 1, 1, 1, 1, false},
               {2, 3, 5, 5, 4, true},
               {2, 2, 7, 11, 6, false},
               {1, 4, 70, 70, 16, true}};
  for (const auto& s : sizes) {
    const Shape q{s.batch, s.heads, s.queries, s.depth};
    const Shape k{s.batch, s.heads, s.keys, s.depth};
    const Shape p{s.batch, s.heads, s.queries, s.keys};
    const std::string name = to_string(p) + (s.causal ? " causal" : "");
    const bool causal = s.causal;
    cases.push_back({"attention",
                     name,
                     {random(q), random(p), random(q), random(k), random(k)},
                     [causal](Kernels& kernels, LaunchContext& c, Arrays a) {
                       kernels.attention(c, a[0], a[1], a[2], a[3], a[4], causal);
                     },
                     kSum});
    cases.push_back(
        {"attention_backward",
         name,
         {random(q), random(k), random(k), random(q), random(p), random(q), random(k), random(k)},
         [](Kernels& kernels, LaunchContext& c, Arrays a) {
           kernels.attention_backward(c, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]);
         },
         kSum});
  }
}

void layer_norms(std::vector<KernelCase>& cases) {
  for (const Shape& x : {Shape{1, 2}, Shape{7, 33}, Shape{300, 48}, Shape{3, 1025}}) {
    const Argument of_row = random({x[0]});
    const Argument of_column = random({x[1]});
    cases.push_back({"layer_norm",
                     to_string(x),
                     {random(x), of_row, of_row, random(x), of_column, of_column},
                     [](Kernels& k, LaunchContext& c, Arrays a) {
                       k.layer_norm(c, a[0], a[1], a[2], a[3], a[4], a[5], 1e-5);
                     },
                     kSum});
    cases.push_back({"layer_norm_backward",
                     to_string(x),
                     {random(x), of_column, of_column, random(x), random(x), of_column, of_row,
                      positive({x[0]})},
                     [](Kernels& k, LaunchContext& c, Arrays a) {
                       k.layer_norm_backward(c, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]);
                     },
                     kSum});
  }
}

}  // namespace

std::vector<KernelCase> token_cases() {
  std::vector<KernelCase> cases;
  products(cases);
  embeddings(cases);
  attentions(cases);
  layer_norms(cases);
  return cases;
}

}  // namespace ringside::test
