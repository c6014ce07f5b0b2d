const hot = 'src/cpi/disk/attach/hot.pml';
const createVm = 'src/cpi/vm/create-vm.pml';

/** One search by spin: a model, its bounds, and the properties that are asserted within them. */
export interface Check {
  /** Path of the model from the root of the repository. Its first comment explains the flags. */
  readonly model: string;
  /** The property in one sentence. */
  readonly property: string;
  /** Flags of the model, separated by spaces, each as `NAME` or `NAME=NUMBER`. */
  readonly flags: string;
  /** Flags of the C compiler. */
  readonly compiler: string;
  /** Arguments of the verifier that spin generates. */
  readonly verifier: string;
  /** `counterexample`: a flag takes a remedy out of the model, and spin must find the fault that it repairs. */
  readonly expected: 'holds' | 'counterexample';
  /** `all`: too large for CI; only `npm run test:model -- --all` runs it. */
  readonly runs: 'in CI' | 'all';
}

export const checks: readonly Check[] = [
  {
    model: hot,
    property: 'no disk in two VMs; detach_disk answers success only if no job uses the disk',
    flags: 'TOLD EARLY=0 RELKILL=0 PUSE OPS=2 INITATT OPSET=11 KILLS=1 UIDS=4',
    compiler: '-DSAFETY',
    verifier: '-m600000',
    expected: 'holds',
    runs: 'in CI',
  },
  {
    model: hot,
    property: 'the same call again ends: detach_disk, then delete_disk',
    flags: 'CONV JOBS=2 EARLY=0 RELKILL=0 NCALL=2 OPS=1 INITATT OPSET=3 KILLS=1 UIDS=4 ONEVM',
    compiler: '-DNFAIR=3',
    verifier: '-a -f -m600000',
    expected: 'holds',
    runs: 'in CI',
  },
  {
    model: createVm,
    property:
      'a VM that create_vm answered success for is never removed by another one; one VM has the address',
    flags: 'KILLS=1 FAILS=1',
    compiler: '-DSAFETY',
    verifier: '-m2000000',
    expected: 'holds',
    runs: 'in CI',
  },
  {
    model: createVm,
    property: 'the same with one agent id: two calls at a time, four in all',
    flags: 'AGENTS=1 OPS=2 KILLS=1 FAILS=1',
    compiler: '-DSAFETY',
    verifier: '-m2000000',
    expected: 'holds',
    runs: 'in CI',
  },
  {
    model: createVm,
    property: 'the same beside attach_disk: a VM that has a disk is not removed',
    flags: 'ATT=1 KILLS=1 FAILS=1',
    compiler: '-DSAFETY',
    verifier: '-m2000000',
    expected: 'holds',
    runs: 'all',
  },
  {
    model: createVm,
    property: 'the same beside set_vm_metadata: a VM that has metadata is not removed',
    flags: 'META=1 KILLS=1 FAILS=1',
    compiler: '-DSAFETY',
    verifier: '-m2000000',
    expected: 'holds',
    runs: 'all',
  },
  {
    model: createVm,
    property: 'the same beside delete_vm, with a kill',
    flags: 'DEL=1 KILLS=1 FAILS=0',
    compiler: '-DSAFETY',
    verifier: '-m2000000',
    expected: 'holds',
    runs: 'all',
  },
  {
    model: createVm,
    property: 'the same beside delete_vm, with a failure',
    flags: 'DEL=1 KILLS=0 FAILS=1',
    compiler: '-DSAFETY',
    verifier: '-m2000000',
    expected: 'holds',
    runs: 'all',
  },
  {
    model: createVm,
    property: 'without the look for other VMs after the pod was made, two VMs have one address',
    flags: 'NOLOOK KILLS=0 FAILS=0',
    compiler: '-DSAFETY',
    verifier: '-m2000000',
    expected: 'counterexample',
    runs: 'in CI',
  },
  {
    model: createVm,
    property: 'without a look at the mark, a finished VM is removed',
    flags: 'NOMARK KILLS=0 FAILS=0',
    compiler: '-DSAFETY',
    verifier: '-m2000000',
    expected: 'counterexample',
    runs: 'all',
  },
  {
    model: createVm,
    property: 'without the version in abandon, a VM that was finished meanwhile is removed',
    flags: 'NOVERSION KILLS=0 FAILS=0',
    compiler: '-DSAFETY',
    verifier: '-m2000000',
    expected: 'counterexample',
    runs: 'all',
  },
  {
    model: createVm,
    property: 'without the version in the mark, success is answered for a VM that is removed',
    flags: 'UNCONDITIONAL KILLS=0 FAILS=0',
    compiler: '-DSAFETY',
    verifier: '-m2000000',
    expected: 'counterexample',
    runs: 'all',
  },
  {
    model: createVm,
    property: 'without the second look, a VM that got metadata meanwhile is removed',
    flags: 'ONELOOK META=1 KILLS=0 FAILS=0',
    compiler: '-DSAFETY',
    verifier: '-m2000000',
    expected: 'counterexample',
    runs: 'all',
  },
  {
    model: createVm,
    property: "if create_vm removes what has its VM's name, a finished VM is removed",
    flags: 'BYNAME AGENTS=1 DEL=1 KILLS=0 FAILS=1',
    compiler: '-DSAFETY',
    verifier: '-m2000000',
    expected: 'counterexample',
    runs: 'all',
  },
];

/** Parts of the protocol that no model describes. The table names them. */
export const notModelled: readonly string[] = [
  'node loss, out-of-service taints, drain with a disruption budget',
  'reboot_vm',
  'create_vm for another request of the same agent id, and the Services and the budget of its VM',
  'snapshot_disk, resize_disk, and update_disk in place',
  'several CPIs that share a disk namespace',
];
