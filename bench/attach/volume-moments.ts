import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { volumeAttachments } from '../../src/cpi/disk/attach/volume-attachments.ts';
import type { KubernetesApi } from '../../src/kubernetes/api.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';

interface VolumeAttachment extends KubernetesObject {
  spec: { source: { persistentVolumeName?: string } };
  status?: { attached?: boolean };
}

/**
 * The time at which a volume was attached to its node and detached from it, in milliseconds of
 * `performance.now`.
 */
export interface VolumeMoments {
  /** The attach-detach controller and the driver's controller have finished. */
  readonly attached?: number;
  readonly detached?: number;
}

export interface VolumeWatch {
  readonly moments: VolumeMoments;
  reached(moment: keyof VolumeMoments): Promise<void>;
  stop(): Promise<void>;
}

/** Watches the VolumeAttachments of that volume. */
export function watchVolume(api: KubernetesApi, volume: string): VolumeWatch {
  const moments: { -readonly [Key in keyof VolumeMoments]: number } = {};
  const waiting: { moment: keyof VolumeMoments; resolve: () => void }[] = [];
  const end = new AbortController();
  const note = (moment: keyof VolumeMoments): void => {
    moments[moment] ??= performance.now();
    for (const { resolve } of waiting.filter((waiter) => waiter.moment === moment)) resolve();
  };
  const followed = (async () => {
    for await (const event of api.watch<VolumeAttachment>(volumeAttachments, { signal: end.signal })) {
      if (event.type === 'ERROR' || event.type === 'BOOKMARK') continue;
      const { spec, status } = event.object;
      if (spec.source.persistentVolumeName !== volume) continue;
      if (event.type === 'DELETED') note('detached');
      else if (status?.attached === true) note('attached');
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

export interface KubeletMoments {
  /** NodeStageVolume has returned. */
  readonly staged?: number;
  /** NodeUnstageVolume has returned. */
  readonly unstaged?: number;
}

/**
 * Reads the moments of a volume that only the kubelet's log shows. `directory` is the node's directory in the
 * cluster's state.
 */
export async function kubeletMoments(directory: string, volume: string): Promise<KubeletMoments> {
  const lines = (await readFile(join(directory, 'kubelet.log'), 'utf8')).split('\n');
  const moment = (part: string): number | undefined => {
    const line = lines.find((text) => text.includes(part) && text.includes(volume));
    return line === undefined ? undefined : klogTime(line);
  };
  const [staged, unstaged] = ['MountVolume.MountDevice succeeded', 'UnmountDevice succeeded'].map(moment);
  return { ...(staged !== undefined && { staged }), ...(unstaged !== undefined && { unstaged }) };
}

/** Parses `I1122 13:55:10.382423`: local time without a year; the current year is assumed. */
function klogTime(line: string): number | undefined {
  const [, month, day, time = '', micro = ''] = /^\w(\d\d)(\d\d) ([\d:]{8})\.(\d{6}) /u.exec(line) ?? [];
  if (month === undefined || day === undefined) return undefined;
  const second = Date.parse(`${new Date().getFullYear()}-${month}-${day}T${time}`);
  return second + Number(micro) / 1000 - performance.timeOrigin;
}
