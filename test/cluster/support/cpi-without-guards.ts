import assert from 'node:assert/strict';
import type { CallContext } from '../../../src/cpi/call.ts';
import type { KubernetesApi } from '../../../src/kubernetes/api.ts';
import type { KubernetesObject } from '../../../src/kubernetes/object.ts';

/** A text in the CPI's pods and commands, and its replacement. */
export interface Weakness {
  readonly from: string;
  readonly to: string;
}

/** No disk ever counts as used. */
export const noBusyCheck: Weakness = {
  from: 'users() {',
  to: 'users() { echo .; return; }\nformer_users() {',
};

/** The attachment pod mounts the disk into any hub. */
export const noTmpfsCheck: Weakness = { from: '[ "$kind" = "$own_tmpfs" ] ||', to: 'true ||' };

/** The mount container unmounts the disk only when its own pod is deleted. */
export const deafHolder: Weakness = { from: 'is_going || vm_is_gone; then', to: 'false; then' };

/** The mount container unmounts the disk only when the disk is empty, as if others had been faster. */
export const lateHolder: Weakness = {
  from: 'asked=$ending',
  to: '[ ! -e "$entry/store/canary" ] || { pause 0.3; continue; }; asked=$ending',
};

/** The hub is a directory on the node's disk. */
export const plainHub: Weakness = { from: '"emptyDir":{"medium":"Memory"}', to: '"emptyDir":{}' };

/**
 * The attachment pod does not wait for `disks`, which exists only in the hub's tmpfs, and creates it itself.
 */
export const noDisksGate: Weakness = { from: 'empty-dir/hub/disks', to: 'empty-dir/hub' };
export const makesDisks: Weakness = { from: 'in_disks() {', to: 'in_disks() { mkdir -p "$disks";' };

/** The end of the VM is not signalled to attachment pods, as if its container were down. */
export const silentEnd: Weakness = { from: 'mkdir /warden-cpi-dev/.going', to: 'true' };

/** A VM that restarts has forgotten its disk, and its jobs do not wait for the disk. */
export const forgetfulVm: Weakness = {
  from: 'bind_disk || exit 1',
  to: 'rm -f "$bosh/managed_disk_settings.json"',
};

/** The copy of a disk is an empty volume, because an API server drops a source of an unknown kind. */
export const noSource: Weakness = {
  from: '"dataSource":{"apiGroup":"snapshot.storage.k8s.io","kind":"VolumeSnapshot"',
  to: '"dataSource":{"apiGroup":"snapshot.storage.k8s.io","kind":"Nothing"',
};

interface CpiWithoutGuards {
  readonly cloud: CallContext;
  /**
   * Fails if a weakness was never applied. Otherwise a renamed line would make the test fail for the wrong
   * reason.
   */
  assertUsed(): void;
}

/**
 * Returns the CPI without some of its guards for disks. Every error that a suite finds with it, the suite
 * would also find in a defective CPI.
 */
export function cpiWithoutGuards(cloud: CallContext, weaknesses: readonly Weakness[]): CpiWithoutGuards {
  const used = new Set<Weakness>();
  const weaken = (text: string, encode: (part: string) => string): string =>
    weaknesses.reduce((now, weakness) => {
      const weaker = now.replaceAll(encode(weakness.from), encode(weakness.to));
      if (weaker !== now) used.add(weakness);
      return weaker;
    }, text);
  const inJson = (text: string): string =>
    text.startsWith('"') && text.includes('":{') ? text : JSON.stringify(text).slice(1, -1);
  const weakened = <T extends KubernetesObject>(object: T): T =>
    JSON.parse(weaken(JSON.stringify(object), inJson)) as T;
  const api: KubernetesApi = {
    get: (reference) => cloud.api.get(reference),
    list: (resource, query) => cloud.api.list(resource, query),
    watch: (resource, query) => cloud.api.watch(resource, query),
    groups: () => cloud.api.groups(),
    create: (resource, object) => cloud.api.create(resource, weakened(object)),
    dryRunCreate: (resource, object) => cloud.api.dryRunCreate(resource, weakened(object)),
    replace: (...args) => cloud.api.replace(...args),
    patch: (...args) => cloud.api.patch(...args),
    delete: (...args) => cloud.api.delete(...args),
  };
  return {
    cloud: {
      ...cloud,
      api,
      exec: (request) => {
        const [shell, flag, script, ...args] = request.command;
        return cloud.exec({ ...request, command: [shell, flag, weaken(script, (part) => part), ...args] });
      },
    },
    assertUsed: () => {
      const unused = weaknesses.filter((weakness) => !used.has(weakness)).map(({ from }) => from);
      assert.deepEqual(unused, [], 'the scripts of the CPI no longer contain this text');
    },
  };
}
