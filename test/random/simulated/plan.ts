import fc from 'fast-check';
import type { Fate } from './killable-process.ts';

export const verbNames = [
  'create_vm',
  'delete_vm',
  'has_vm',
  'reboot_vm',
  'set_vm_metadata',
  'attach_disk',
  'detach_disk',
  'delete_disk',
  'update_disk',
] as const;
export type VerbName = (typeof verbNames)[number];

export const faultNames = [
  'kill the container of the VM',
  'kill the container of the attachment',
  'delete the attachment',
  'delete the attachment by force',
  'evict the attachment',
  'delete the pod of the VM',
  'delete the claim',
  'cut the node off',
  'the node comes back',
  'the node is out of service',
] as const;
export type FaultName = (typeof faultNames)[number];

export interface PlannedCall {
  readonly verb: VerbName;
  readonly vm: number;
  readonly disk: number;
  /** The director has the agent unmount the disk before detach_disk. */
  readonly isPolite: boolean;
  readonly fate: Fate;
  /** A stopped call continues after so many other calls have ended. */
  readonly stoppedFor: number;
}

export interface PlannedFault {
  readonly fault: FaultName;
  readonly vm: number;
  readonly disk: number;
}

export type PlannedStep = PlannedCall | PlannedFault;

export interface Plan {
  readonly strategies: readonly ('hot' | 'recreate')[];
  readonly isOneNode: boolean;
  readonly hasAttacher: boolean;
  /** The first disk is attached to the first VM at the beginning. */
  readonly isAttached: boolean;
  /** The steps of each caller, one after the other; the callers do not know of each other. */
  readonly callers: readonly (readonly PlannedStep[])[];
}

const strategy = fc.constantFrom('hot' as const, 'recreate' as const);
// a plan is mostly about one of the disks, and a little more often about one of the VMs
const vmIndex = fc.constantFrom(0, 0, 0, 1, 1);
const diskIndex = fc.constantFrom(0, 0, 0, 0, 0, 1);

const weights: Readonly<Record<VerbName, number>> = {
  create_vm: 2,
  delete_vm: 2,
  has_vm: 1,
  reboot_vm: 1,
  set_vm_metadata: 1,
  attach_disk: 8,
  detach_disk: 8,
  delete_disk: 2,
  update_disk: 3,
};

const write = fc.oneof(
  ...[4, 3, 2, 1, 1].map((weight, index) => ({ arbitrary: fc.constant(index + 1), weight })),
);
const counted = fc.oneof(
  // most calls send no more requests
  { arbitrary: fc.tuple(fc.constant('requests' as const), fc.integer({ min: 1, max: 18 })), weight: 1 },
  // between a read and the write that depends on it
  { arbitrary: fc.tuple(fc.constant('writes' as const), write), weight: 3 },
);
const stop: fc.Arbitrary<Fate> = counted.map(([counts, stoppedBefore]) => ({ counts, stoppedBefore }));
const kill: fc.Arbitrary<Fate> = counted.map(([counts, killedAfter]) => ({ counts, killedAfter }));
const stopAndKill: fc.Arbitrary<Fate> = fc
  .tuple(stop, fc.integer({ min: 0, max: 2 }))
  .map(([fate, later]) => ({ ...fate, killedAfter: (fate.stoppedBefore ?? 0) + later }));
const interruption = fc.oneof(
  { arbitrary: kill, weight: 2 },
  { arbitrary: stop, weight: 3 },
  { arbitrary: stopAndKill, weight: 1 },
);
const fate: fc.Arbitrary<Fate> = fc.oneof(fc.constant({}), interruption);

const callOf = (verb: fc.Arbitrary<VerbName>, fates: fc.Arbitrary<Fate> = fate): fc.Arbitrary<PlannedCall> =>
  fc.record({
    ...{ verb, vm: vmIndex, disk: diskIndex, fate: fates },
    isPolite: fc.constantFrom(true, true, true, false),
    stoppedFor: fc.integer({ min: 1, max: 4 }),
  });

/** A sequence of steps of one caller. */
type Flow = fc.Arbitrary<readonly PlannedStep[]>;

const one = (verb: VerbName): fc.Arbitrary<PlannedCall> => callOf(fc.constant(verb));
const on = (call: PlannedCall, changes: Partial<PlannedCall>): PlannedCall => ({ ...call, ...changes });

/** A director moves a disk from one VM to the other. */
const move: Flow = fc
  .tuple(one('detach_disk'), one('attach_disk'))
  .map(([detach, attach]) => [detach, on(attach, { vm: 1 - detach.vm, disk: detach.disk })]);
const attachAndDetach: Flow = fc
  .tuple(one('attach_disk'), one('detach_disk'))
  .map(([attach, detach]) => [attach, on(detach, { vm: attach.vm, disk: attach.disk })]);
const detachAndAttach: Flow = fc
  .tuple(one('detach_disk'), one('attach_disk'))
  .map(([detach, attach]) => [detach, on(attach, { vm: detach.vm, disk: detach.disk })]);
/** A stopped call continues long after its caller has gone on. */
const outlived: Flow = fc
  .tuple(callOf(fc.constantFrom('attach_disk', 'detach_disk'), stop), one('detach_disk'), one('attach_disk'))
  .map(([first, detach, attach]) => [
    on(first, { isPolite: true }),
    on(detach, { vm: first.vm, disk: first.disk, isPolite: true }),
    on(attach, { disk: first.disk }),
  ]);
/** A disk is attached while it is being changed or deleted. */
const meeting: Flow = fc
  .tuple(
    callOf(fc.constantFrom('delete_disk', 'update_disk', 'attach_disk'), interruption),
    callOf(fc.constantFrom('attach_disk', 'update_disk', 'delete_disk')),
    fc.array(callOf(fc.constantFrom('detach_disk', 'update_disk', 'delete_disk', 'attach_disk')), {
      maxLength: 2,
    }),
  )
  .map(([first, second, rest]) => {
    const { disk, vm } = first;
    return [first, on(second, { disk }), ...rest.map((call) => on(call, { disk, vm }))];
  });
/** A caller repeats a call that was interrupted. */
const again = (verbs: fc.Arbitrary<VerbName>): Flow =>
  callOf(verbs, interruption).map((call) => [call, on(call, { fate: {} })]);

const faultOf = (faults: readonly FaultName[]): fc.Arbitrary<PlannedFault> =>
  fc.record({ fault: fc.constantFrom(...faults), vm: vmIndex, disk: diskIndex });

/**
 * A plan uses only some of the verbs and faults: frequent ones then overlap in every order within one run.
 */
const flowOf: fc.Arbitrary<Flow> = fc
  .tuple(
    fc.subarray([...verbNames].filter((verb) => verb !== 'attach_disk')),
    fc.oneof(fc.constant([]), fc.constant([]), fc.subarray([...faultNames], { minLength: 1, maxLength: 3 })),
  )
  .map(([others, faults]) => {
    const verbs = ['attach_disk' as const, ...others];
    const verb = fc.oneof(...verbs.map((name) => ({ arbitrary: fc.constant(name), weight: weights[name] })));
    const single: Flow = callOf(verb).map((call) => [call]);
    const flows = others.includes('detach_disk')
      ? [move, attachAndDetach, detachAndAttach, outlived, outlived]
      : [];
    const meetings = others.includes('delete_disk') || others.includes('update_disk') ? [meeting] : [];
    const fault: Flow[] = faults.length === 0 ? [] : [faultOf(faults).map((step) => [step])];
    return fc.oneof(single, single, again(verb), ...flows, ...meetings, ...fault);
  });

export const plans: fc.Arbitrary<Plan> = flowOf.chain((flow) =>
  fc.record({
    strategies: fc.oneof(
      strategy.map((same) => [same, same]),
      fc.tuple(strategy, strategy),
    ),
    isOneNode: fc.boolean(),
    hasAttacher: fc.boolean(),
    isAttached: fc.boolean(),
    callers: fc.array(
      fc.array(flow, { minLength: 1, maxLength: 4 }).map((flows) => flows.flat()),
      { minLength: 1, maxLength: 3 },
    ),
  }),
);
