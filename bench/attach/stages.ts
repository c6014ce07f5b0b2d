import type { PodMoments } from './pod-moments.ts';
import type { KubeletMoments, VolumeMoments } from './volume-moments.ts';

export type Moments = PodMoments & VolumeMoments & KubeletMoments & { readonly released?: number };

/** Returns the duration of each part of attach_disk; their sum is the duration of the whole. */
export function attachStages(moments: Moments, start: number, end: number): Record<string, number> {
  return between(start, [
    ['API, until the pod exists', moments.created],
    ['scheduling', moments.scheduled],
    ['attach of the volume to the node', moments.attached],
    ['mount of the volume on the node', moments.staged],
    ['mounts of the pod, and its sandbox', moments.sandbox],
    ['start of the mount container', moments.running],
    ['mount into the hub, until the verb returns', end],
  ]);
}

/** Returns the duration of each part of detach_disk; their sum is the duration of the whole. */
export function detachStages(moments: Moments, start: number, end: number): Record<string, number> {
  return between(start, [
    ['release by the mount container', moments.released],
    ['API, until the deletion is requested', moments.requested],
    ['end of the mount container', moments.ended],
    ['unmount on the node', moments.unstaged],
    ['end of the pod', moments.removed],
    ['detach of the volume, until the verb returns', end],
  ]);
}

/**
 * Returns the duration of each stage. Two concurrent stages may be observed in the opposite order: the later
 * one then has the duration 0. A stage that was not observed counts as part of the next one.
 */
function between(
  start: number,
  stages: readonly (readonly [name: string, end: number | undefined])[],
): Record<string, number> {
  let last = start;
  const taken: Record<string, number> = {};
  for (const [name, end = last] of stages) {
    taken[`  ${name}`] = Math.max(0, end - last);
    last = Math.max(last, end);
  }
  return taken;
}
