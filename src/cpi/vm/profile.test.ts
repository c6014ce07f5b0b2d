import assert from 'node:assert/strict';
import { test } from 'node:test';
import { evaluatePod } from '../../../embedded-cluster/api-server/admission/pod-security/security-policy.ts';
import type { Pod } from '../../kubernetes/pod.ts';
import { plannedPod } from '../testing/planned-pod.ts';
import { profiles } from './profile.ts';
import type { VmPlan } from './vm-plan.ts';

const podWith = (profile: string, attach: VmPlan['attach']): Pod =>
  plannedPod({
    attach,
    group: 'g',
    properties: { profile, ephemeral_disk: { size: 10, storage_class: 'fast' }, service_account: 'jobs' },
  });

test('Pod Security baseline has nothing against a baseline VM, and names what is against it in the others', () => {
  const against = (profile: string, attach: VmPlan['attach'] = 'hot'): string | undefined =>
    evaluatePod(podWith(profile, attach), { level: 'baseline', version: 'latest' })?.reasons;
  assert.equal(against('privileged'), 'privileged');
  assert.equal(against('sys-admin'), 'forbidden AppArmor profile, non-default capabilities');
  assert.equal(against('baseline'), undefined);
  assert.equal(against('baseline', 'recreate'), undefined);
});

test('no profile but privileged is privileged, and each has root, which the agent needs', () => {
  for (const profile of profiles) {
    const { securityContext } = podWith(profile, 'hot').spec.containers[0] ?? {};
    assert.equal(securityContext?.privileged, profile === 'privileged');
    assert.equal(securityContext?.runAsUser, 0);
  }
});
