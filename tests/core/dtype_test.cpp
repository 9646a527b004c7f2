// Dtypes, shapes and errors: names, sizes, limits.
#include "ringside/dtype.h"

#include <gtest/gtest.h>

#include "ringside/error.h"

namespace ringside {
namespace {

TEST(DType, NamesRoundTripAndSizesAreThoseOfTheType) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kInt64,
                            DType::kFloat16, DType::kBFloat16, DType::kUInt8}) {
    EXPECT_EQ(parse_dtype(to_string(dtype)), dtype);
    EXPECT_EQ(size_of(dtype), visit_dtype(dtype, []<typename T>() { return sizeof(T); }));
  }
  EXPECT_EQ(size_of(DType::kFloat32), 4U);
  EXPECT_EQ(size_of(DType::kInt64), 8U);
}

TEST(DType, AnUnknownNameListsTheValidOnes) {
  try {
    parse_dtype("half");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(
        error.what(),
        "dtype 'half': must be one of float32, float64, int32, int64, float16, bfloat16, uint8");
    EXPECT_EQ(error.exit_status(), 2);
  }
}

TEST(Shape, CountsElementsAndIndexesFromBothEnds) {
  const Shape shape{2, 3, 4};
  EXPECT_EQ(shape.numel(), 24);
  EXPECT_EQ(shape[0], 2);
  EXPECT_EQ(shape[-1], 4);
  EXPECT_EQ(to_string(shape), "2x3x4");
  EXPECT_EQ(shape.with(-1, 5), (Shape{2, 3, 5}));
  EXPECT_EQ(Shape{}.numel(), 1);
  EXPECT_EQ(to_string(Shape{}), "scalar");
  EXPECT_EQ((Shape{0, 5}).numel(), 0);
}

TEST(Shape, RefusesWhatCannotBe) {
  EXPECT_THROW((Shape{1, 1, 1, 1, 1, 1, 1}), Error);
  EXPECT_THROW((Shape{-1}), Error);
  EXPECT_THROW((Shape{1LL << 40, 1LL << 40}), Error);
  EXPECT_THROW((Shape{2})[1], Error);
  EXPECT_THROW((Shape{2}).with(0, -3), Error);
}

TEST(Error, APrefixKeepsKindAndHint) {
  const Error error(ErrorKind::kOutOfMemory, "tried 4 MB", "use a smaller batch");
  const Error prefixed = error.with_prefix("rank 2: ");
  EXPECT_STREQ(prefixed.what(), "rank 2: tried 4 MB");
  EXPECT_EQ(prefixed.hint(), "use a smaller batch");
  EXPECT_EQ(prefixed.kind(), ErrorKind::kOutOfMemory);
  EXPECT_EQ(prefixed.exit_status(), 1);
}

}  // namespace
}  // namespace ringside
