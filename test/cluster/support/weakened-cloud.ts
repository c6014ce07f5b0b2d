import assert from 'node:assert/strict';
import type { CallContext } from '../../../src/cpi/cloud.ts';
import type { KubernetesApi } from '../../../src/kubernetes/api.ts';
import type { KubernetesObject } from '../../../src/kubernetes/object.ts';

/** A text of the CPI's pods and commands, and what stands there instead. */
export interface Weakness {
  readonly from: string;
  readonly to: string;
}

/** Nobody ever uses a disk. */
export const noBusyCheck: Weakness = {
  from: 'users() {',
  to: 'users() { echo .; return; }\nformer_users() {',
};

/** The attachment binds whatever the hub is. */
export const noTmpfsCheck: Weakness = { from: '[ "$kind" = "$own_tmpfs" ] ||', to: 'true ||' };

/** The attachment lets go only when it is deleted itself. */
export const deafHolder: Weakness = { from: 'is_going || vm_is_gone; then', to: 'false; then' };

/** It lets go when there is nothing left on the disk, as one that others were faster than. */
export const lateHolder: Weakness = {
  from: 'asked=$ending',
  to: '[ ! -e "$entry/store/canary" ] || { pause 0.3; continue; }; asked=$ending',
};

/** The hub is a folder of the node's disk. */
export const plainHub: Weakness = { from: '"emptyDir":{"medium":"Memory"}', to: '"emptyDir":{}' };

/** The attachment does not wait for \`disks\`, which is there only where the hub's tmpfs is, and makes it itself. */
export const noDisksGate: Weakness = { from: 'empty-dir/hub/disks', to: 'empty-dir/hub' };
export const makesDisks: Weakness = { from: 'in_disks() {', to: 'in_disks() { mkdir -p "$disks";' };

/** The VM's end tells no attachment, as where its container is down. */
export const silentEnd: Weakness = { from: 'mkdir /warden-cpi-dev/.going', to: 'true' };

/** A VM that starts again has forgotten its disk, and its jobs do not wait for it. */
export const forgetfulVm: Weakness = {
  from: 'bind_disk || exit 1',
  to: 'rm -f "$bosh/managed_disk_settings.json"',
};

/** The copy of a disk is an empty volume: an API server drops a source of a kind that it does not know. */
export const noSource: Weakness = {
  from: '"dataSource":{"apiGroup":"snapshot.storage.k8s.io","kind":"VolumeSnapshot"',
  to: '"dataSource":{"apiGroup":"snapshot.storage.k8s.io","kind":"Nothing"',
};

export interface WeakenedCloud {
  readonly cloud: CallContext;
  /** Fails where a weakness was never put in: a renamed line would make a test of harm fail for the wrong reason. */
  assertUsed(): void;
}

/** The CPI without some of what keeps disks from harm: what a suite finds with it, it would find in a CPI that is wrong. */
export function weakenedCloud(cloud: CallContext, weaknesses: readonly Weakness[]): WeakenedCloud {
  const used = new Set<Weakness>();
  const weaken = (text: string, encode: (part: string) => string): string =>
    weaknesses.reduce((now, weakness) => {
      const weaker = now.replaceAll(encode(weakness.from), encode(weakness.to));
      if (weaker !== now) used.add(weakness);
      return weaker;
    }, text);
  const inJson = (text: string): string =>
    text.startsWith('"') && text.includes('":{') ? text : JSON.stringify(text).slice(1, -1);
  const api: KubernetesApi = {
    get: (reference) => cloud.api.get(reference),
    list: (resource, query) => cloud.api.list(resource, query),
    watch: (resource, query) => cloud.api.watch(resource, query),
    groups: () => cloud.api.groups(),
    create: <T extends KubernetesObject>(
      ...[resource, object, ...more]: Parameters<typeof cloud.api.create<T>>
    ) => cloud.api.create<T>(resource, JSON.parse(weaken(JSON.stringify(object), inJson)) as T, ...more),
    replace: (...words) => cloud.api.replace(...words),
    patch: (...words) => cloud.api.patch(...words),
    delete: (...words) => cloud.api.delete(...words),
  };
  return {
    cloud: {
      ...cloud,
      api,
      exec: (asked) => {
        const [shell, flag, script, ...words] = asked.command;
        return cloud.exec({ ...asked, command: [shell, flag, weaken(script, (part) => part), ...words] });
      },
    },
    assertUsed: () => {
      const unused = weaknesses.filter((weakness) => !used.has(weakness)).map(({ from }) => from);
      assert.deepEqual(unused, [], 'the CPI has no such text any more');
    },
  };
}
