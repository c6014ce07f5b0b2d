import type { KubernetesApi } from '../../src/kubernetes/api.ts';
import type { Pod } from '../../src/kubernetes/types/pod.ts';
import { pods } from '../../src/kubernetes/resources.ts';

/** The time at which the API first reported each stage of a pod, in milliseconds of `performance.now`. */
export interface PodMoments {
  readonly created?: number;
  readonly scheduled?: number;
  /** Volumes and network are ready, and the sandbox runs. */
  readonly sandbox?: number;
  readonly running?: number;
  /** Its deletion was requested. */
  readonly requested?: number;
  /** Its containers have terminated. */
  readonly ended?: number;
  readonly removed?: number;
}

export interface PodWatch {
  readonly moments: PodMoments;
  /** Resolves when that stage is reached. */
  reached(moment: keyof PodMoments): Promise<void>;
  stop(): Promise<void>;
}

/** Watches the pod of that name, which may not exist yet. */
export function watchPod(api: KubernetesApi, namespace: string, name: string): PodWatch {
  const moments: { -readonly [Key in keyof PodMoments]: number } = {};
  const waiting: { moment: keyof PodMoments; resolve: () => void }[] = [];
  const end = new AbortController();
  const note = (moment: keyof PodMoments): void => {
    moments[moment] ??= performance.now();
    for (const { resolve } of waiting.filter((waiter) => waiter.moment === moment)) resolve();
  };
  const followed = (async () => {
    const query = { namespace, fieldSelector: `metadata.name=${name}`, signal: end.signal };
    for await (const event of api.watch<Pod>(pods, query)) {
      if (event.type === 'DELETED') note('removed');
      else if (event.type === 'ADDED' || event.type === 'MODIFIED') {
        for (const moment of reachedBy(event.object)) note(moment);
      }
    }
  })();
  return {
    moments,
    reached: (moment) =>
      moments[moment] === undefined
        ? new Promise((resolve) => waiting.push({ moment, resolve }))
        : Promise.resolve(),
    stop: async () => {
      end.abort();
      await followed;
    },
  };
}

function reachedBy({ metadata, status = {} }: Pod): (keyof PodMoments)[] {
  const holds = (type: string): boolean =>
    status.conditions?.some((condition) => condition.type === type && condition.status === 'True') ?? false;
  const containers = status.containerStatuses ?? [];
  return [
    'created' as const,
    ...(holds('PodScheduled') ? (['scheduled'] as const) : []),
    ...(holds('PodReadyToStartContainers') ? (['sandbox'] as const) : []),
    ...(containers.some(({ state }) => state?.running !== undefined) ? (['running'] as const) : []),
    ...(metadata.deletionTimestamp === undefined ? [] : (['requested'] as const)),
    ...(containers.length > 0 && containers.every(({ state }) => state?.terminated !== undefined)
      ? (['ended'] as const)
      : []),
  ];
}
