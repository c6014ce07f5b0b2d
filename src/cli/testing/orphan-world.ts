import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { attachDisk } from '../../cpi/disk/attach-disk.ts';
import { createDisk } from '../../cpi/disk/create-disk.ts';
import { setDiskMetadata } from '../../cpi/disk/set-disk-metadata.ts';
import { snapshotDisk } from '../../cpi/snapshot/snapshot-disk.ts';
import { Crash, crashingApi } from '../../cpi/testing/crashing-api.ts';
import { type StorageCloud, storageCloud } from '../../cpi/testing/storage-cloud.ts';
import { createVmRequest, namespace } from '../../cpi/testing/test-cloud.ts';
import { createVm } from '../../cpi/vm/create-vm.ts';
import { setVmMetadata } from '../../cpi/vm/set-vm-metadata.ts';
import { type BoshJsonOptions, boshJson } from '../../inventory/testing/bosh-json.ts';
import type { KubernetesApi } from '../../kubernetes/api.ts';
import type { KubernetesObject } from '../../kubernetes/object.ts';
import { persistentVolumeClaims, secrets, volumeSnapshots } from '../../kubernetes/resources.ts';
import type { PersistentVolumeClaim } from '../../kubernetes/types/storage.ts';
import { systemClock } from '../../platform/clock.ts';
import { until } from '../../../test/support/until.ts';
import type { OrphansArguments } from '../args/orphans-arguments.ts';
import { cleanOrphans } from '../inventory/clean-orphans.ts';
import { recordOutput } from './record-output.ts';

const dayMs = 24 * 60 * 60 * 1000;

export interface CleanRun {
  readonly exitCode: number;
  readonly out: string;
  readonly errors: readonly string[];
}

export interface CleanOptions {
  readonly lists?: readonly string[];
  readonly states?: readonly string[];
  readonly force?: boolean;
  /** The answers to the questions, in their order. Without them there is no terminal. */
  readonly answers?: readonly string[];
  readonly api?: KubernetesApi;
}

/** The objects of a director, in use and left over, two days after they were made. */
export interface OrphanWorld extends StorageCloud {
  readonly used: {
    readonly vm: string;
    readonly disk: string;
    readonly orphaned: string;
    readonly snapshot: string;
  };
  readonly left: { readonly vm: string; readonly disk: string; readonly snapshot: string };
  /** Writes an output of the bosh CLI and returns its path. `ageMs` is its age at the time of `clean`. */
  list(content: Parameters<typeof boshJson>[0], options?: ListOptions): Promise<string>;
  /** Writes complete lists. */
  lists(): Promise<string[]>;
  write(name: string, text: string, ageMs?: number): Promise<string>;
  clean(options: CleanOptions): Promise<CleanRun>;
  /** Returns the names of all claims, snapshots and Secrets of VMs. */
  names(): Promise<string[]>;
}

interface ListOptions extends BoshJsonOptions {
  readonly rows?: readonly Readonly<Record<string, string>>[];
  readonly ageMs?: number;
}

export async function orphanWorld(t: TestContext): Promise<OrphanWorld> {
  const world = await storageCloud(t);
  const { api, cloud } = world;
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-orphans-'));
  t.after(() => rm(directory, { recursive: true }));
  const newDisk = (): Promise<string> =>
    createDisk(cloud, { sizeMiB: 64, cloudProperties: { storage_class: 'now' } });
  const vm = await createVm(cloud, createVmRequest()).then(() => `vm-${createVmRequest().agentId}`);
  const metadata = { deployment: 'dep', job: 'web', index: '0' };
  await setVmMetadata(cloud, { vmCid: vm, metadata });
  const [disk, orphaned, leftDisk] = [await newDisk(), await newDisk(), await newDisk()];
  await attachDisk(cloud, { vmCid: vm, diskCid: disk });
  for (const diskCid of [disk, orphaned]) await setDiskMetadata(cloud, { diskCid, metadata });
  const claim = { resource: persistentVolumeClaims, namespace, name: disk };
  await until(
    'the volume',
    async () => (await api.get<PersistentVolumeClaim>(claim)).status?.phase === 'Bound',
  );
  const snapshot = await snapshotDisk(cloud, { diskCid: disk, metadata });
  const leftSnapshot = await snapshotDisk(cloud, { diskCid: disk, metadata });
  const dying = { ...cloud, api: crashingApi(api, 2, 'after') };
  await createVm(
    dying,
    createVmRequest({ agentId: 'left', networks: { default: { type: 'dynamic' } } }),
  ).catch((error: unknown) => {
    if (!(error instanceof Crash)) throw error;
  });
  const used = { vm, disk, orphaned, snapshot };
  const rowsOf = {
    instances: [{ instance: 'web/id', deployment: 'dep', vm_cid: vm, disk_cids: disk }],
    disks: [{ disk_cid: orphaned }],
    snapshots: [{ instance: 'web/0', cid: snapshot }],
    orphaned_vms: [],
  };
  const clock = { ...systemClock, now: () => Date.now() + 2 * dayMs };
  let files = 0;
  const write = async (name: string, text: string, ageMs = 60_000): Promise<string> => {
    const path = join(directory, name);
    await writeFile(path, text);
    const seconds = (clock.now() - ageMs) / 1000;
    await utimes(path, seconds, seconds);
    return path;
  };
  const list: OrphanWorld['list'] = (content, { rows, ageMs, ...options } = {}) => {
    files += 1;
    const more = content === 'snapshots' ? { deployment: 'dep', ...options } : options;
    return write(`${content}-${files}.json`, boshJson(content, rows ?? rowsOf[content], more), ageMs);
  };
  return {
    ...world,
    ...{ used, left: { vm: 'vm-left', disk: leftDisk, snapshot: leftSnapshot }, write, list },
    lists: () => Promise.all([list('instances'), list('disks'), list('snapshots')]),
    names: async () => {
      const kinds = [persistentVolumeClaims, volumeSnapshots, secrets];
      const found = await Promise.all(kinds.map((kind) => api.list<KubernetesObject>(kind, { namespace })));
      return found.flatMap(({ items }) => items.map(({ metadata: { name } }) => name)).toSorted();
    },
    clean: async ({ lists = [], states = [], force = false, answers, api: otherApi = api }) => {
      const recorded = recordOutput();
      const rest = [...(answers ?? [])];
      const values: OrphansArguments = { listPaths: lists, statePaths: states, delete: true, force };
      const { terminal, signal } = recorded.context;
      const asking = {
        ...terminal,
        canAsk: answers !== undefined,
        ask: (question: string) => {
          recorded.out += question;
          return Promise.resolve(rest.shift());
        },
      };
      const call = { ...cloud, api: otherApi, directorUuid: undefined };
      const exitCode = await cleanOrphans({ call, clock }, values, { terminal: asking, signal });
      return { exitCode, out: recorded.out, errors: recorded.errors };
    },
  };
}
