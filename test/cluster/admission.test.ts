import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../src/kubernetes/pod.ts';
import { pods } from '../../src/kubernetes/resources.ts';
import {
  admittedAttachment,
  admittedCopy,
  admittedSweeper,
  attachmentChanges,
  copyChanges,
} from '../support/admission-changes.ts';
import { run } from './machine/run.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { deniedBy, refusalOf, withDisksNamespace } from './support/disks-namespace.ts';

/** The API server's own rule comes first: no pod is made with one. */
const refusedBefore = new Set(['a container for debugging']);

describeCluster('the policy of manifests/admission, by the CEL of a real API server', (world) => {
  test("the CPI's pods are admitted, each change of one is refused, and none of them gets a container for debugging", () =>
    withDisksNamespace(world(), async (disks) => {
      const { api } = world();
      assert.equal(await refusalOf(api, admittedSweeper(disks)), undefined);
      for (const [make, changes] of [
        [admittedAttachment, attachmentChanges],
        [admittedCopy, copyChanges],
      ] as const) {
        assert.equal(await refusalOf(api, make(disks)), undefined);
        for (const [what, change] of Object.entries(changes)) {
          const pod = make(disks);
          change(pod);
          const refusal = await refusalOf(api, pod);
          assert.ok(refusal !== undefined, `${pod.metadata.name ?? ''} is admitted with ${what}`);
          if (!refusedBefore.has(what)) assert.match(refusal, deniedBy(disks), what);
        }
        const { metadata } = await api.create<Pod>(pods, make(disks));
        const debug = ['debug', '--namespace', disks, metadata.name ?? '', '--image=registry.invalid/x:1'];
        const { exitCode, stderr } = await run([...world().cluster.kubectl, ...debug]);
        assert.notEqual(exitCode, 0, `${metadata.name ?? ''} got a container for debugging`);
        assert.match(stderr, deniedBy(disks));
      }
    }));
});
