import type { ProcessIdentity, ProcessUsage } from '../process/process-table.ts';

/** The resources that a process and its descendants use at one moment. */
export interface ProcessSample {
  readonly at: number;
  readonly parentPid: number;
  /** Direct and indirect children. */
  readonly children: number;
  readonly memoryKilobytes: number;
  readonly totalMemoryKilobytes: number;
  /** Processor seconds by pid and start, the process itself first. */
  readonly cpuSeconds: ReadonlyMap<string, number>;
}

/** Takes the sample of one process out of all processes. Returns undefined if it is no longer running. */
export function sampleTree(
  process: ProcessIdentity,
  usages: readonly ProcessUsage[],
  at: number,
): ProcessSample | undefined {
  const own = usages.find((one) => keyOf(one) === keyOf(process));
  if (own === undefined) return undefined;
  const byParent = Map.groupBy(usages, ({ parentPid }) => parentPid);
  const family = new Set([own]);
  for (const member of family) for (const child of byParent.get(member.pid) ?? []) family.add(child);
  const all = [...family];
  return {
    at,
    parentPid: own.parentPid,
    children: all.length - 1,
    memoryKilobytes: own.memoryKilobytes,
    totalMemoryKilobytes: all.reduce((sum, one) => sum + one.memoryKilobytes, 0),
    cpuSeconds: new Map(all.map((one) => [keyOf(one), one.cpuSeconds])),
  };
}

/**
 * Returns the share of all processors that a process, or it and its descendants, used between two samples, in
 * percent. Returns undefined if both samples have the same time.
 */
export function cpuPercent(
  previous: ProcessSample,
  sample: ProcessSample,
  { processors, isTotal }: { readonly processors: number; readonly isTotal: boolean },
): number | undefined {
  const seconds = (sample.at - previous.at) / 1000;
  if (seconds <= 0) return undefined;
  const counted = isTotal ? [...sample.cpuSeconds] : [...sample.cpuSeconds].slice(0, 1);
  const used = counted.reduce(
    (sum, [key, now]) => sum + Math.max(0, now - (previous.cpuSeconds.get(key) ?? now)),
    0,
  );
  return Math.min(100, (used / seconds / processors) * 100);
}

const keyOf = ({ pid, startTicks }: ProcessIdentity): string => `${pid}/${startTicks}`;
