// Wrong use and bad input: exit status 2 (or 1), one clear message, a hint; with --json a document.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/subprocess.h"

namespace ringside::test {
namespace {

using Words = std::vector<std::string>;

struct BadUse {
  Words arguments;
  int status;
  std::string message;  ///< what standard error must begin with after "ringside: error: "
  std::string hint;     ///< what the hint must contain; empty = not looked at
};

const std::vector<BadUse>& bad_uses() {
  static const std::vector<BadUse> kCases = {
      // commands
      {{}, 2, "no command is given", "ringside --help"},
      {{"rnu"}, 2, "unknown command 'rnu'", "did you mean run?"},
      {{"zzzzzz"}, 2, "unknown command 'zzzzzz'", "the commands are run,"},
      {{""}, 2, "unknown command ''", ""},
      {{"--quiet"}, 2, "unknown option --quiet", "after a command"},
      {{"help", "drwa"}, 2, "unknown command 'drwa'", "did you mean draw?"},
      // options in general
      {{"run", "--batchsize", "3"}, 2, "unknown option --batchsize", "did you mean --batch-size?"},
      {{"run", "--zzz"}, 2, "unknown option --zzz", "'ringside run --help'"},
      {{"run", "--device", "3"}, 2, "unknown option --device", "did you mean --devices?"},
      {{"run", "-x"}, 2, "unknown option -x", ""},
      {{"run", "digits"}, 2, "'digits': run takes options only", "did you mean --data digits?"},
      {{"run", "s.toml"}, 2, "'s.toml': run takes options only", "did you mean --config s.toml?"},
      {{"run", "dp"}, 2, "'dp': run takes options only", "did you mean --strategy dp?"},
      {{"draw", "t.json"}, 2, "'t.json': draw takes options only", "did you mean --trace t.json?"},
      {{"run", "--lr"}, 2, "--lr: needs a value", ""},
      {{"run", "--lr", "--seed", "1"}, 2, "--lr: needs a value", ""},
      {{"run", "--lr", "1", "--lr", "2"}, 2, "--lr: given more than once (1 and 2)", ""},
      {{"run", "--quiet", "--quiet"}, 2, "--quiet: given more than once", ""},
      {{"run", "--nesterov=maybe"}, 2, "--nesterov 'maybe': must be true or false", ""},
      {{"run", "--color", "blue"}, 2, "--color 'blue': must be one of auto always never", ""},
      {{"doctor", "now"}, 2, "'now': doctor takes options only", ""},
      // values
      {{"run", "--devices", "0"}, 2, "--devices 0: must be at least 1", ""},
      {{"run", "--devices", "-4"}, 2, "--devices -4: must be at least 1", ""},
      {{"run", "--devices", "1000000"}, 2, "--devices 1000000: must be at most 1024: each", ""},
      {{"run", "--devices", "4x"}, 2, "--devices '4x': is not a whole number", ""},
      {{"run", "--devices="}, 2, "--devices", ""},
      {{"run", "--devices", ""}, 2, "--devices", ""},
      {{"run", "--devices", "99999999999999999999"},
       2,
       "--devices '99999999999999999999': does not fit",
       ""},
      {{"run", "--batch-size", "0"}, 2, "--batch-size 0: must be at least 1", ""},
      {{"run", "--lr", "fast"}, 2, "--lr 'fast': is not a number", ""},
      {{"run", "--lr", "-1"}, 2, "--lr -1: must be 0 or more", ""},
      {{"run", "--lr", "nan"}, 2, "--lr 'nan': must be a finite number", ""},
      {{"run", "--seed", "-1"}, 2, "--seed '-1': is not a whole number of 0 or more", ""},
      {{"run", "--memory", "64XB"}, 2, "--memory '64XB': 'XB' is not a unit of bytes", "KiB"},
      {{"run", "--memory", "1.5"}, 2, "--memory '1.5': is not a whole number", "1.5GB"},
      {{"run", "--model", "mpl:64,10"},
       2,
       "model 'mpl:64,10': must be mlp:SIZES",
       "did you mean mlp?"},
      {{"run", "--model", "mlp:64,9"},
       2,
       "model 'mlp:64,9': gives 9 outputs, but the data has 10 classes",
       "mlp:INPUTS,HIDDEN,...,CLASSES"},
      {{"run", "--strategy", "dp", "--dim", "6"}, 2, "--dim 6: must be at most 5", ""},
      {{"run", "--dim", "1"}, 2, "--dim: has no meaning for strategy ddp, only for dp", ""},
      {{"run", "--strategy", "dp", "--module-device", "4"},
       2,
       "module-device 4: there are 4 devices, 0 to 3",
       ""},
      {{"run", "--strategy", "dp", "--loss-in", "module"},
       2,
       "--loss-in 'module': must be one of output forward",
       ""},
      {{"run", "--strategy", "dp", "--loss-in", "forward", "--gathered-loss", "max"},
       2,
       "--gathered-loss 'max': must be one of mean sum",
       ""},
      {{"run", "--strategy", "dp", "--gathered-loss", "sum"},
       2,
       "gathered-loss sum: with loss-in output there is one loss",
       "--loss-in forward"},
      {{"run", "--device-memory", "12GB,1GB"},
       2,
       "--device-memory 12GB,1GB: 2 sizes for 4 devices",
       "give one for each device"},
      {{"run", "--device-memory", "12GB,,1GB,1GB"}, 2, "--device-memory ''", ""},
      {{"run", "--backend", "meta", "--verify"},
       2,
       "--verify with backend meta: it has no values",
       "choose --backend sim"},
      {{"run", "--strategy", "ps", "--async", "--verify"},
       2,
       "--verify with async: its workers may differ",
       "leave --async out"},
      {{"run", "--verify-step", "3"}, 2, "verify-step 3: nothing is verified", "add --verify"},
      {{"run", "--verify", "--verify-step", "9", "--steps", "4"},
       2,
       "verify-step 9: the run has 4 steps",
       "name an earlier step"},
      {{"run", "--dtype", "int32"}, 2, "--dtype 'int32': must be one of float32 float64", ""},
      {{"run", "--dtype", "half"}, 2, "--dtype 'half': must be one of", ""},
      {{"run", "--strategy", "zero"}, 2, "--strategy 'zero': must be one of single dp ddp", ""},
      {{"run", "--strategy", "DDP"}, 2, "--strategy 'DDP': must be one of", "did you mean ddp?"},
      {{"run", "--device-ids", "0,99999999999999999999"},
       2,
       "--device-ids '99999999999999999999': does not fit",
       ""},
      {{"run", "--device-ids", "0,,1"}, 2, "--device-ids '0,,1': is not a list", ""},
      {{"run", "--algorithm", "hypercube"}, 2, "--algorithm 'hypercube': must be one of", ""},
      {{"run", "--epochs", "1", "--steps", "1"},
       2,
       "epochs 1 and steps 1: only one may be given",
       ""},
      {{"run", "--nesterov"}, 2, "nesterov: needs a momentum", "--momentum"},
      {{"run", "--optimizer", "lion"}, 2, "--optimizer 'lion': must be one of sgd adam adamw", ""},
      {{"run", "--optimizer", "adam", "--momentum", "0.9"},
       2,
       "--momentum: has no meaning for optimizer adam, only for sgd",
       "choose another optimizer"},
      {{"run", "--beta1", "0.9"}, 2, "--beta1: has no meaning for optimizer sgd", ""},
      {{"run", "--eps", "1e-8"}, 2, "--eps: has no meaning for optimizer sgd", ""},
      {{"run", "--optimizer", "adam", "--beta2", "1"},
       2,
       "--beta2 1: must be from 0 to below 1",
       ""},
      // DistributedDataParallel
      {{"run", "--comm-hook", "fp166"}, 2, "--comm-hook 'fp166': must be one of none", "mean fp16"},
      {{"run", "--join", "maybe"}, 2, "--join 'maybe': must be one of off", ""},
      {{"run", "--join", "active", "--backend", "meta"}, 2, "--join active: no rank of meta", ""},
      {{"run", "--join", "active", "--accumulate", "2"}, 2, "--join active: shadows steps", ""},
      {{"run", "--accumulate", "0"}, 2, "--accumulate 0: must be at least 1", ""},
      {{"run", "--frozen", "0.weights"},
       2,
       "frozen: there is no parameter '0.weights'",
       "did you mean 0.weight?"},
      {{"run", "--frozen", "module.0.weight"},
       2,
       "frozen: there is no parameter 'module.0.weight'",
       "did you mean 0.weight? Names are those before wrapping"},
      {{"run", "--frozen", "0.weight,,0.bias"}, 2, "frozen '0.weight,,0.bias': a name is", ""},
      {{"run", "--frozen", "0.bias,0.bias"}, 2, "frozen 0.bias,0.bias: parameter 0.bias is", ""},
      {{"run", "--strategy", "dp", "--frozen", "0.weight,0.bias,2.weight,2.bias"},
       2,
       "frozen 0.weight,0.bias,2.weight,2.bias: these are all parameters",
       "leave a parameter to train"},
      {{"run", "--no-sync=false"}, 2, "no-sync false: with accumulate 1", "--accumulate"},
      {{"run", "--divide-loss=false"}, 2, "divide-loss false: with accumulate 1", "--accumulate"},
      {{"run", "--accumulate", "2147483647"},
       2,
       "accumulate 2147483647: an epoch of a rank has batches for 6",
       "accumulate at most 6"},
      {{"run", "--algorithm", "star", "--direction", "down"},
       2,
       "direction down: has no meaning for algorithm star, only for auto ring chain",
       "leave direction out"},
      {{"run", "--algorithm", "star", "--border", "gloo"}, 2, "border gloo: has no meaning", ""},
      {{"run", "--algorithm", "star", "--pieces", "2"}, 2, "pieces 2: has no meaning", ""},
      {{"run", "--node-size", "2"}, 2, "node-size 2: has no meaning for algorithm auto", ""},
      {{"run", "--memory", "1GB", "--device-memory", "1GB,1GB,1GB,1GB"},
       2,
       "memory and device-memory: only one may be given",
       ""},
      {{"run", "--device-memory", "1GB,2GiB,1500"},
       2,
       "--device-memory 1GB,2GiB,1500: 3 sizes for 4 devices",
       ""},
      {{"run", "--join", "active", "--sync-batchnorm", "--model", "mlp:64,32,10:bn"},
       2,
       "--join active: sync-batchnorm exchanges statistics",
       "--join throw"},
      {{"run", "--strategy", "dp", "--dim", "5"},
       2,
       "dim 5: a batch of digits has 2 dimensions, 0 to 1",
       ""},
      {{"run", "--strategy", "dp", "--dim", "1"},
       2,
       "dim 1: in replica 0 on device 0: linear: input",
       "leave dim out"},
      {{"run", "--strategy", "dp", "--dim", "-1"}, 2, "--dim -1: must be at least 0", ""},
      {{"run", "--strategy", "dp", "--model", "mlp:64,32,10:bn", "--batch-size", "4"},
       1,
       "in replica 0 on device 0: Expected more than 1 value per channel when training",
       ""},
      {{"run", "--sync-batchnorm"}, 2, "sync-batchnorm: model 'mlp:64,32,10' has no", ":bn"},
      {{"run", "--strategy", "dp", "--static-graph"}, 2, "--static-graph: has no meaning", ""},
      {{"run", "--set-to-none=false", "--find-unused-parameters", "--save", "a"},
       2,
       "--set-to-none false: the next step needs the gradients",
       ""},
      // checkpoints
      {{"run", "--save-every", "5"}, 2, "save-every: nothing is saved without", "--save FILE"},
      {{"run", "--save-every", "0"}, 2, "--save-every 0: must be at least 1", ""},
      {{"run", "--save-wrapped"}, 2, "save-wrapped: nothing is saved without", "--save FILE"},
      {{"run", "--save", ""}, 2, "--save", ""},
      {{"run", "--save", "/nowhere/a"}, 1, "cannot write /nowhere/a: there is no directory", ""},
      {{"run", "--save", "c-{foo}.st"}, 2, "save 'c-{foo}.st': only {step} stands for", ""},
      {{"run", "--save", "a", "--backend", "meta"}, 2, "save: backend meta has no values", ""},
      {{"run", "--save", "a", "--trace", "a"}, 2, "trace and save: both would write a", ""},
      {{"run", "--strategy", "ps", "--async", "--data", "random:150:64:10", "--batch-size", "16",
        "--save", "a", "--steps", "5"},
       2,
       "save: a checkpoint after step 5 would lose pushes that are on their way",
       "--save-every 3, and --steps a multiple of 3"},
      {{"run", "--resume", "a", "--load", "b"}, 2, "load and resume: only one", ""},
      {{"run", "--resume", "/nowhere/a"}, 2, "cannot read /nowhere/a: No such file", ""},
      {{"run", "--load", "/dev/null"}, 2, "/dev/null: is not a regular file", ""},
      {{"run", "--load", "a", "--strip-prefix", "module"},
       2,
       "--strip-prefix 'module': a prefix ends with a dot",
       "write module."},
      {{"run", "--load", "a", "--add-prefix", "module"}, 2, "--add-prefix 'module': a prefix", ""},
      {{"run", "--load", "a", "--rename-prefix", "a.b."}, 2, "--rename-prefix 'a.b.': must be", ""},
      {{"run", "--strip-prefix", "module."},
       2,
       "strip-prefix, add-prefix, rename-prefix: nothing",
       ""},
      {{"checkpoint"}, 2, "no file is given", "ringside checkpoint FILE"},
      {{"checkpoint", "/nowhere/a"}, 2, "cannot read /nowhere/a: No such file", ""},
      {{"checkpoint", "/dev/null", "--strip-prefix", "module."},
       2,
       "keys are renamed",
       "--weights"},
      {{"run", "--clip-grad-norm", "-1"}, 2, "--clip-grad-norm -1: must be 0 or more", ""},
      {{"run", "--model", "gpt"},
       2,
       "model 'gpt' and data 'digits': the model takes tokens, which only a text has",
       "--data text:FILE"},
      {{"run", "--model", "gpt", "--data", "text:/nowhere/a"}, 2, "/nowhere/a", ""},
      {{"run", "--strategy", "dp", "--bucket-cap-mb", "1"},
       2,
       "--bucket-cap-mb: has no meaning for strategy dp, only for ddp",
       ""},
      {{"run", "--chunk-sizes", "1"}, 2, "--chunk-sizes: has no meaning for strategy ddp", ""},
      {{"run", "--strategy", "single", "--devices", "2"},
       2,
       "devices 2: strategy single trains on one",
       ""},
      {{"run", "--strategy", "dp", "--device-ids", "0,9"},
       2,
       "device-ids 9: there are 4 devices",
       ""},
      {{"run", "--strategy", "dp", "--chunk-sizes", "1,2"},
       2,
       "chunk-sizes 1,2: 3 rows in all",
       ""},
      {{"run", "--workers", "2"},
       2,
       "--workers: has no meaning for strategy ddp, only for ps",
       "choose another strategy"},
      {{"run", "--strategy", "ps", "--workers", "0"}, 2, "--workers 0: must be at least 1", ""},
      {{"run", "--strategy", "ps", "--servers", "0"}, 2, "--servers 0: must be at least 1", ""},
      {{"run", "--strategy", "ps", "--worker-devices", "0"}, 2, "--worker-devices 0: must be", ""},
      {{"run", "--strategy", "ps", "--server-devices", "4"},
       2,
       "server-devices 4: there are 3 workers",
       "give a server at most 3 devices"},
      {{"run", "--strategy", "ps", "--variant", "c"}, 2, "--variant 'c': must be one of a b", ""},
      {{"run", "--strategy", "ps", "--server-op", "max"},
       2,
       "--server-op 'max': must be one of sum mean",
       ""},
      {{"run", "--strategy", "ps", "--workers", "3", "--devices", "5"},
       2,
       "devices 5: 3 workers with 1 device each and 1 server with 1 each are 4",
       "leave --devices out"},
      {{"run", "--strategy", "ps", "--staleness", "2"},
       2,
       "staleness 2: without async every worker waits for all others",
       "add --async"},
      {{"run", "--strategy", "ps", "--async", "--variant", "a"}, 2, "async: needs variant b", ""},
      {{"run", "--strategy", "ps", "--async", "--staleness", "-1"}, 2, "--staleness -1: must", ""},
      {{"run", "--strategy", "ps", "--async", "--server-devices", "2"},
       2,
       "async: a server with 2 devices adds up several pushes",
       "choose more --servers"},
      {{"run", "--strategy", "ps", "--servers", "2", "--clip-grad-norm", "1"},
       2,
       "clip-grad-norm 1: none of 2 servers has the whole gradient",
       "--variant a"},
      {{"run", "--trace-steps", "2-1", "--trace", "t"}, 2, "--trace-steps 2-1: the last step", ""},
      {{"run", "--trace-steps=-1", "--trace", "t"}, 2, "--trace-steps '-1': must be a step", ""},
      {{"run", "--trace-steps", "1-", "--trace", "t"}, 2, "--trace-steps '1-': must be a step", ""},
      {{"run", "--trace-steps", "0-1"}, 2, "trace-steps: nothing is recorded", "--trace FILE"},
      // files
      {{"run", "--config", "/nowhere/s.toml"}, 2, "cannot read /nowhere/s.toml: No such file", ""},
      {{"run", "--config", "/"}, 2, "cannot read /: Is a directory", ""},
      {{"run", "--config", "/dev/zero"}, 2, "cannot read /dev/zero: it goes on after", ""},
      {{"run", "--trace", "/"}, 1, "cannot write /: Is a directory", ""},
      {{"run", "--trace", "/nowhere/t.json"},
       1,
       "cannot write /nowhere/t.json: there is no directory",
       ""},
      {{"run", "--out", "/dev/null/x"}, 1, "cannot make the directory /dev/null/x", ""},
      {{"draw", "--trace", "/nowhere/t.json", "--out", "x"}, 2, "cannot read /nowhere/t.json", ""},
      {{"draw", "--out", "x"}, 2, "draw: --trace FILE is needed", ""},
      {{"draw", "--trace", "t.json"}, 2, "draw: --out DIR is needed", ""},
      {{"draw", "--trace", "t", "--out", "x", "--format", "jpg"},
       2,
       "--format 'jpg': 'jpg' must be one of dot svg png",
       ""},
      // collective
      {{"collective"}, 2, "collective: no operation is given", ""},
      {{"collective", "all-redcue"}, 2, "operation 'all-redcue'", "did you mean all-reduce?"},
      {{"collective", "broadcast", "scatter"}, 2, "'scatter': only one OPERATION may be given", ""},
      {{"collective", "all-reduce", "--ranks", "0"}, 2, "--ranks 0: must be at least 1", ""},
      {{"collective", "all-reduce", "--ranks", "1000000"},
       2,
       "--ranks 1000000: must be at most 1024",
       ""},
      {{"collective", "all-reduce", "--root", "1"}, 2, "--root: all-reduce has none", ""},
      {{"collective", "broadcast", "--root", "4"}, 2, "--root 4: must be at most 3", ""},
      {{"collective", "broadcast", "--op", "sum"}, 2, "--op: broadcast has none", ""},
      {{"collective", "all-reduce", "--op", "median"}, 2, "reduce op 'median'", ""},
      {{"collective", "gather", "--algorithm", "ring"},
       2,
       "gather: algorithm ring: must be one of star, tree",
       ""},
      {{"collective", "gather", "--counts", "1,2"}, 2, "--counts 1,2: 2 counts for 4 ranks", ""},
      {{"collective", "gather", "--counts", "1,2,3,-4"}, 2, "--counts -4: must be at least 0", ""},
      {{"collective", "all-reduce", "--count", "9999999999999"},
       2,
       "--count 9999999999999: must be at most",
       ""},
      {{"collective", "send", "--peer", "0"},
       2,
       "--root 0 and --peer 0: a rank cannot send to itself",
       ""},
      {{"draw", "--trace", "t", "--out", "o", "--phase", ""}, 2, "--phase '': names no phase", ""},
      {{"collective", "send", "--ranks", "1"}, 2, "--ranks 1: a send needs two", ""},
      {{"collective", "gather", "--count", "1", "--counts", "1,2,3,4"},
       2,
       "--count and --counts: only one may be given",
       ""},
      {{"collective", "all-reduce", "--alpha", "3"},
       2,
       "--alpha: nothing is timed without --explain",
       "add --explain"},
      {{"collective", "all-reduce", "--explain", "--beta", "0"},
       2,
       "--beta 0: must be above 0",
       ""},
      {{"collective", "all-reduce", "--explain", "--draw", "x"},
       2,
       "--explain and --draw: only one may be given",
       ""},
      {{"collective", "all-reduce", "--node-size", "2"},
       2,
       "--node-size: all-reduce with algorithm ring has none",
       ""},
      {{"collective", "all-reduce", "--algorithm", "hierarchical", "--node-size", "3"},
       2,
       "all-reduce: node size 3: must divide the 4 ranks",
       ""},
      {{"collective", "all-reduce", "--algorithm", "star", "--direction", "down"},
       2,
       "--direction: all-reduce with algorithm star has none",
       "rings and chains"},
      {{"collective", "gather", "--direction", "down"},
       2,
       "--direction: gather with algorithm star has none",
       ""},
      {{"collective", "all-reduce", "--algorithm", "tree", "--border", "nccl"},
       2,
       "--border: all-reduce with algorithm tree has none",
       ""},
      {{"collective", "all-reduce", "--pieces", "2"},
       2,
       "--pieces: all-reduce with algorithm ring has none",
       ""},
      {{"collective", "gather", "--theme", "dark"},
       2,
       "--theme: nothing is drawn without --draw",
       "--draw DIR"},
      {{"collective", "gather", "--draw", "x", "--theme", "blue"}, 2, "theme 'blue'", ""},
      // bench
      {{"bench"}, 2, "bench: no operation is given", "ringside bench all-reduce"},
      {{"bench", "all-redcue"}, 2, "operation 'all-redcue'", "did you mean all-reduce?"},
      {{"bench", "sendrcv"}, 2, "operation 'sendrcv'", "did you mean sendrecv?"},
      {{"bench", "barrier"}, 2, "bench barrier: it moves no data", ""},
      {{"bench", "broadcast", "reduce"}, 2, "'reduce': only one OPERATION may be given", ""},
      {{"bench", "reduce", "--backend", "meta"}, 2, "--backend 'meta': must be one of sim", ""},
      {{"bench", "reduce", "--backend", "smi"}, 2, "--backend 'smi'", "did you mean sim?"},
      {{"bench", "reduce", "--ranks", "0"}, 2, "--ranks 0: must be at least 1", ""},
      {{"bench", "reduce", "--ranks", "1025"}, 2, "--ranks 1025: must be at most 1024", ""},
      {{"bench", "reduce", "--begin", "0"}, 2, "--begin", ""},
      {{"bench", "reduce", "--begin", "-1"}, 2, "--begin '-1'", ""},
      {{"bench", "reduce", "--begin", "K"}, 2, "--begin 'K'", ""},
      {{"bench", "reduce", "--begin", "4Q"}, 2, "--begin '4Q': 'Q' is not a unit of bytes", ""},
      {{"bench", "reduce", "--begin", "1M", "--end", "1K"},
       2,
       "--begin 1048576: must be at most the end, 1024",
       "raise --end"},
      {{"bench", "reduce", "--end", "99999999999G"}, 2, "--end '99999999999GiB': is more than", ""},
      {{"bench", "reduce", "--end", "100TiB"}, 2, "--end 109951162777600: must be at most", ""},
      {{"bench", "reduce", "--end", "16TiB"}, 1, "rank 0: the buffers of 4 ranks", "lower --end"},
      {{"bench", "reduce", "--factor", "1"}, 2, "--factor 1: must be at least 2", ""},
      {{"bench", "reduce", "--factor", "2.5"}, 2, "--factor '2.5': is not a whole number", ""},
      {{"bench", "reduce", "--step", "1"}, 2, "--step 1: 8 to 67108864 bytes would be", "--factor"},
      {{"bench", "reduce", "--step", "1K", "--factor", "2"}, 2, "--factor and --step: only", ""},
      {{"bench", "reduce", "--iters", "0"}, 2, "--iters 0: must be at least 1", ""},
      {{"bench", "reduce", "--warmup", "-1"}, 2, "--warmup -1: must be at least 0", ""},
      {{"bench", "reduce", "--check=maybe"}, 2, "--check 'maybe': must be true or false", ""},
      {{"bench", "all-to-all", "--in-place"}, 2, "--in-place: all-to-all cannot be", ""},
      {{"bench", "all-reduce", "--root", "1"}, 2, "--root: all-reduce has none", ""},
      {{"bench", "reduce", "--root", "4"}, 2, "--root 4: must be at most 3", ""},
      {{"bench", "broadcast", "--op", "sum"}, 2, "--op: broadcast has none", ""},
      {{"bench", "reduce", "--op", "median"}, 2, "reduce op 'median'", ""},
      {{"bench", "reduce", "--dtype", "int8"}, 2, "dtype 'int8'", ""},
      {{"bench", "gather", "--algorithm", "ring"}, 2, "gather: algorithm ring: must be one of", ""},
      {{"bench", "sendrecv", "--algorithm", "ring"}, 2, "--algorithm: send has none", ""},
      {{"bench", "sendrecv", "--ranks", "1"}, 2, "sendrecv needs two ranks", "--ranks"},
      {{"bench", "all-reduce", "--node-size", "2"}, 2, "--node-size: all-reduce with", ""},
      {{"bench", "all-reduce", "--algorithm", "hierarchical", "--node-size", "3"},
       2,
       "all-reduce: node size 3: must divide the 4 ranks",
       ""},
      // completion
      {{"completion"}, 2, "completion: no shell is given", ""},
      {{"completion", "bahs"}, 2, "completion: shell 'bahs'", "did you mean bash?"},
  };
  return kCases;
}

TEST(Usage, BadUseIsToldInOneLineWithAHint) {
  for (const BadUse& use : bad_uses()) {
    const ProcessResult result = run_ringside(use.arguments);
    SCOPED_TRACE(result.command + "\n" + result.errors);
    EXPECT_EQ(result.status, use.status);
    EXPECT_EQ(result.output, "");
    EXPECT_TRUE(result.errors.starts_with("ringside: error: " + use.message));
    if (!use.hint.empty()) {
      const std::size_t at = result.errors.find("\nhint: ");
      ASSERT_NE(at, std::string::npos);
      EXPECT_NE(result.errors.find(use.hint, at), std::string::npos);
    }
  }
}

TEST(Usage, WithJsonTheErrorIsADocumentToo) {
  for (const BadUse& use : bad_uses()) {
    if (use.arguments.empty()) continue;
    Words arguments = use.arguments;
    arguments.emplace_back("--json");
    const ProcessResult result = run_ringside(arguments);
    SCOPED_TRACE(result.command + "\n" + result.output + result.errors);
    EXPECT_EQ(result.status, use.status);
    const auto document = nlohmann::json::parse(result.output, nullptr, false);
    ASSERT_TRUE(document.is_object());
    EXPECT_EQ(document["ringside"], "error");
    EXPECT_EQ(document["version"], 1);
    EXPECT_EQ(document["exit_status"], use.status);
    EXPECT_TRUE(document["message"].is_string());
    EXPECT_TRUE(document["hint"].is_string());
    EXPECT_TRUE(document["kind"].is_string());
  }
}

TEST(Usage, StandardErrorThatCannotBeWrittenChangesNothingElse) {
  const std::string command = RINGSIDE_PROGRAM " run --nonsense --json ";
  for (const char* closed : {"2>/dev/full", "2>&-"}) {
    const ProcessResult result = run_process({"/bin/sh", "-c", command + closed}, {});
    EXPECT_EQ(result.status, 2) << closed;
    EXPECT_NE(result.output.find("unknown option --nonsense"), std::string::npos) << closed;
  }
}

TEST(Usage, HelpAndVersion) {
  for (const Words& words : {Words{"--help"}, Words{"-h"}, Words{"help"}}) {
    const ProcessResult result = run_ringside(words);
    EXPECT_EQ(result.status, 0);
    EXPECT_NE(result.output.find("Commands:\n  run "), std::string::npos) << result.output;
    EXPECT_EQ(result.errors, "");
  }
  for (const char* command :
       {"run", "draw", "collective", "bench", "calc", "demo", "doctor", "completion"}) {
    const ProcessResult result = run_ringside({command, "--help"});
    EXPECT_EQ(result.status, 0);
    EXPECT_TRUE(result.output.starts_with("Usage: ringside " + std::string(command)));
    EXPECT_NE(result.output.find("\nExamples:\n  "), std::string::npos) << result.output;
    EXPECT_NE(result.output.find("--json"), std::string::npos);
    EXPECT_EQ(run_ringside({"help", command}).output, result.output);
    // --help wins over whatever else is there, as a person who asks for help expects.
    EXPECT_EQ(run_ringside({command, "--nonsense", "--help"}).output, result.output);
  }
  const ProcessResult version = run_ringside({"--version"});
  EXPECT_EQ(version.status, 0);
  EXPECT_TRUE(version.output.starts_with("ringside 0.")) << version.output;
}

TEST(Usage, ColourOnlyWhereItIsWanted) {
  const std::string escape = "\x1b[";
  EXPECT_EQ(run_ringside({"--help"}).output.find(escape), std::string::npos);
  EXPECT_EQ(run_ringside({"doctor"}).output.find(escape), std::string::npos);
  EXPECT_NE(run_ringside({"doctor", "--color", "always"}).output.find(escape), std::string::npos);
  EXPECT_EQ(run_ringside({"doctor", "--color", "never"}).output.find(escape), std::string::npos);
}

// Not in every container.
bool has_pseudo_terminals() {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal >= 0) ::close(terminal);
  return terminal >= 0;
}

// What the program writes when a terminal listens; script(1) is one.
std::string on_terminal(const std::string& arguments,
                        std::vector<std::pair<std::string, std::string>> environment) {
  ProcessOptions options;
  options.environment = std::move(environment);
  const std::string command = RINGSIDE_PROGRAM " " + arguments;
  const ProcessResult result =
      run_process({"/usr/bin/script", "-qec", command, "/dev/null"}, options);
  EXPECT_EQ(result.status, 0) << result.command << result.output << result.errors;
  return result.output;
}

TEST(Usage, ATerminalSeesColourAndProgressUnlessItSaysNo) {
  if (!std::filesystem::exists("/usr/bin/script")) GTEST_SKIP() << "no script(1) on this system";
  if (!has_pseudo_terminals()) GTEST_SKIP() << "no pseudo-terminals here (/dev/pts)";
  const std::string green = "\x1b[32m";
  const std::string progress = "step 1 of 4, loss ";
  const std::string run = "run --steps 4 --batch-size 8";
  const std::pair<std::string, std::string> terminal{"TERM", "xterm"};
  EXPECT_NE(on_terminal("doctor", {terminal}).find(green), std::string::npos);
  EXPECT_EQ(on_terminal("doctor", {terminal, {"NO_COLOR", "1"}}).find(green), std::string::npos);
  EXPECT_EQ(on_terminal("doctor", {{"TERM", "dumb"}}).find(green), std::string::npos);
  EXPECT_NE(on_terminal(run, {terminal}).find(progress), std::string::npos);
  EXPECT_EQ(on_terminal(run, {{"TERM", "dumb"}}).find(progress), std::string::npos);
  EXPECT_EQ(on_terminal(run + " --quiet", {terminal}), "");
}

}  // namespace
}  // namespace ringside::test
