import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { ContainerState, ContainerStatus, Pod } from '../../kubernetes/pod.ts';
import { plannedPod } from '../testing/planned-pod.ts';
import { startProblem } from './start-problem.ts';

const status = (name: string, state: ContainerState): ContainerStatus => ({
  ...{ name, image: 'i', imageID: '', ready: false, restartCount: 0 },
  state,
});
const waiting = (reason: string): ContainerState => ({ waiting: { reason, message: `${reason}, it says` } });
const running: ContainerState = { running: { startedAt: '2026-01-01T00:00:00Z' } };
const done: ContainerState = { terminated: { exitCode: 0 } };

const problemOf = (init: ContainerStatus[], main: ContainerStatus[]): string | undefined =>
  startProblem({
    ...plannedPod(),
    status: { phase: 'Pending', initContainerStatuses: init, containerStatuses: main },
  } satisfies Pod);

suite('why a pod that has a node does not start', () => {
  test('our own containers: what another try does not mend', () => {
    assert.match(
      problemOf([status('prepare', waiting('CrashLoopBackOff'))], []) ?? '',
      /container prepare, CrashLoopBackOff/u,
    );
    for (const name of ['bosh', 'hold'])
      assert.match(
        problemOf([], [status(name, waiting('ImagePullBackOff'))]) ?? '',
        /cannot be pulled .*check the stemcell's image_reference/u,
      );
    assert.equal(problemOf([], [status('bosh', waiting('ContainerCreating'))]), undefined);
  });

  test('an image that was built and not pushed: what its name means, and how it comes to the nodes', () => {
    const image = 'bosh-kubernetes.local/tiny@sha256:00';
    const pulled = { ...status('bosh', waiting('ImagePullBackOff')), image };
    assert.match(
      problemOf([], [pulled]) ?? '',
      /no registry is called bosh-kubernetes\.local.*stemcell push FOLDER.*or load it into every node/u,
    );
    assert.doesNotMatch(
      problemOf([], [{ ...pulled, ...status('bosh', waiting('CrashLoopBackOff')), image }]) ?? '',
      /no registry/u,
    );
  });

  test('a sidecar that a webhook added, in front of ours or behind, decides nothing about our container', () => {
    for (const reason of ['CrashLoopBackOff', 'ImagePullBackOff', 'CreateContainerConfigError']) {
      const proxy = status('istio-proxy', waiting(reason));
      const ours = [status('prepare', done)];
      assert.equal(problemOf(ours, [proxy, status('bosh', running)]), undefined, reason);
      assert.equal(problemOf(ours, [status('bosh', running), proxy]), undefined, reason);
    }
  });

  test('an added init container stands before ours: its image counts and is told from the stemcell, its crashes may pass', () => {
    const behind = [status('prepare', waiting('PodInitializing'))];
    const pulled = problemOf([status('istio-init', waiting('ImagePullBackOff')), ...behind], []);
    assert.match(pulled ?? '', /container istio-init, ImagePullBackOff.*webhook/u);
    assert.doesNotMatch(pulled ?? '', /stemcell/u);
    assert.equal(
      problemOf([status('linkerd-network-validator', waiting('CrashLoopBackOff')), ...behind], []),
      undefined,
    );
  });
});
