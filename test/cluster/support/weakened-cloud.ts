import assert from 'node:assert/strict';
import type { Cloud } from '../../../src/cpi/cloud.ts';
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
export const noTmpfsCheck: Weakness = { from: '[ "$kind" = tmpfs ] ||', to: 'true ||' };

/** The hub is a folder of the node's disk. */
export const plainHub: Weakness = { from: '"emptyDir":{"medium":"Memory"}', to: '"emptyDir":{}' };

/** The CPI without some of what keeps disks from harm: what a suite finds with it, it would find in a CPI that is wrong. */
export function weakenedCloud(cloud: Cloud, weaknesses: readonly Weakness[]): Cloud {
  const weaken = (text: string, encode: (part: string) => string): string =>
    weaknesses.reduce((now, { from, to }) => now.replaceAll(encode(from), encode(to)), text);
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
    ...cloud,
    api,
    exec: (command) =>
      cloud.exec({ ...command, command: command.command.map((word) => weaken(word, (part) => part)) }),
  };
}

/** Fails unless the running scripts have the weakness: a renamed line would make a test of harm pass for the wrong reason. */
export function assertWeak(text: string, weaknesses: readonly Weakness[]): void {
  for (const { to } of weaknesses) assert.ok(text.includes(to), `the pod does not have: ${to}`);
}
