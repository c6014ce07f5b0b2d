import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, Pod } from '../../kubernetes/pod.ts';
import { parseConfig } from '../config.ts';
import { profiles } from './profile.ts';
import { type VmPlan, vmPod } from './vm-pod.ts';
import { parseVmProperties } from './vm-properties.ts';

/** What a container may add under the level baseline (kubernetes: pod-security-admission/policy/check_capabilities_baseline.go). */
const capabilitiesOfBaseline = [
  ...['AUDIT_WRITE', 'CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'MKNOD', 'NET_BIND_SERVICE'],
  ...['SETFCAP', 'SETGID', 'SETPCAP', 'SETUID', 'SYS_CHROOT'],
];

/**
 * What Pod Security "baseline" has against a pod, by the names of its checks (kubernetes:
 * staging/src/k8s.io/pod-security-admission/policy/check_*.go), as far as our pods have the fields.
 */
function violations({ spec }: Pod): string[] {
  const containers = [...(spec.initContainers ?? []), ...spec.containers];
  const contexts = [
    spec.securityContext ?? {},
    ...containers.map(({ securityContext = {} }) => securityContext),
  ];
  const any = (holds: (container: Container) => boolean): boolean => containers.some(holds);
  const found: Record<string, boolean> = {
    hostNamespaces: spec.hostNetwork === true || spec.hostPID === true,
    hostPathVolumes: (spec.volumes ?? []).some(({ hostPath }) => hostPath !== undefined),
    privileged: any(({ securityContext }) => securityContext?.privileged === true),
    capabilities: any(({ securityContext }) =>
      (securityContext?.capabilities?.add ?? []).some((name) => !capabilitiesOfBaseline.includes(name)),
    ),
    hostPorts: any(({ ports = [] }) => ports.some(({ hostPort = 0 }) => hostPort !== 0)),
    appArmorProfile: contexts.some(({ appArmorProfile }) => appArmorProfile?.type === 'Unconfined'),
    seccompProfile: contexts.some(({ seccompProfile }) => seccompProfile?.type === 'Unconfined'),
  };
  return Object.keys(found).filter((name) => found[name]);
}

function podWith(profile: string, attach: VmPlan['attach']): Pod {
  const place = { code: 'INVALID_ARGUMENT', path: 'cloud_properties' } as const;
  const properties = parseVmProperties(
    { profile, ephemeral_disk: { size: 10, storage_class: 'fast' }, service_account: 'jobs' },
    place,
    parseConfig({}, {}),
  );
  const plan = { cid: 'vm-a', agentId: 'a', namespace: 'n', image: 'i', group: 'g' };
  const networking = { labels: {}, annotations: {} };
  return vmPod({ ...plan, networking, attach, directorUuid: undefined, properties }, 'uid');
}

test('Pod Security baseline has nothing against a baseline VM, and names what is against it in the others', () => {
  const against = Object.fromEntries(
    profiles.map((profile) => [profile, violations(podWith(profile, 'hot'))] as const),
  );
  assert.deepEqual(against, {
    privileged: ['privileged'],
    'sys-admin': ['capabilities', 'appArmorProfile'],
    baseline: [],
  });
  assert.deepEqual(violations(podWith('baseline', 'recreate')), []);
});

test('no profile but privileged is privileged, and each has root, which the agent needs', () => {
  for (const profile of profiles) {
    const { securityContext } = podWith(profile, 'hot').spec.containers[0] ?? {};
    assert.equal(securityContext?.privileged, profile === 'privileged');
    assert.equal(securityContext?.runAsUser, 0);
  }
});
