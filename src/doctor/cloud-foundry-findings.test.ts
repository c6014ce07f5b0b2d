import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attempts, cloudFoundryFindings } from './cloud-foundry-findings.ts';
import type { Finding } from './finding.ts';
import { parseProbeReport } from './probe-report.ts';
import { probeScript } from './probe-script.ts';

/** Returns the rows of a node on which everything works except what `changes` has, by the rows' checks. */
function rows(changes: Readonly<Record<string, string>> = {}): ReadonlyMap<string, Finding> {
  const lines = attempts.map((name) => `${name}\t${changes[name] ?? 'yes\t'}`);
  const findings = cloudFoundryFindings('node-1', parseProbeReport(`${lines.join('\n')}\n`));
  return new Map(findings.map((finding) => [finding.check, finding]));
}

const result = (changes: Readonly<Record<string, string>>, check: string): string | undefined =>
  rows(changes).get(check)?.result;

test('the probe tries everything that the table shows, and a node that has it all passes', () => {
  const tried = [...probeScript.matchAll(/^probe (\S+) /gmu)].map(([, name = '']) => name);
  assert.deepEqual(tried.toSorted(), attempts.filter((name) => !name.includes('.')).toSorted());
  const findings = [...rows().values()];
  assert.equal(findings.length, attempts.length); // XFS has two attempts, and the pod has a row, too
  assert.deepEqual(
    findings.filter((each) => each.result !== 'ok' || each.remedy !== '' || each.neededBy === ''),
    [],
  );
});

test('what every layout needs fails, what only some need is a warning, and both say what to do', () => {
  const everything = rows(Object.fromEntries(attempts.map((name) => [name, 'no\tError: no such thing'])));
  const of = (wanted: string): string[] =>
    [...everything.values()].filter((each) => each.result === wanted).map(({ check }) => check);
  assert.deepEqual(of('failed'), [
    ...[
      'Programs of the stemcell',
      'Loop devices',
      'Shared mounts',
      'Overlay',
      'Nested container with its own cgroup',
    ],
    ...['Cgroup version', 'Link veth', 'vm.overcommit_memory', 'kernel.dmesg_restrict', 'kernel.pid_max'],
  ]);
  assert.deepEqual(of('ok'), ['VM of profile privileged']);
  for (const finding of everything.values())
    if (finding.result !== 'ok') assert.notEqual(finding.remedy, '', finding.check);
  assert.equal(everything.get('Link veth')?.detail, 'Error: no such thing');
});

test('XFS without quotas fails by its cause; without a loop device it was not tried', () => {
  const check = 'XFS with project quotas';
  const noQuota = rows({ 'xfs-quota': 'no\tmount: wrong fs type' }).get(check);
  assert.deepEqual(
    [noQuota?.result, noQuota?.detail],
    ['failed', 'XFS works, but without project quotas: the kernel has no CONFIG_XFS_QUOTA'],
  );
  const unknown = "no\tmount: unknown filesystem type 'xfs'.";
  const noXfs = rows({ xfs: unknown, 'xfs-quota': unknown }).get(check);
  assert.deepEqual([noXfs?.result, noXfs?.detail], ['failed', "mount: unknown filesystem type 'xfs'."]);
  const noLoop = rows({ loop: 'no\tx', xfs: 'no\tx', 'xfs-quota': 'no\tx' }).get(check);
  assert.deepEqual(
    [noLoop?.result, noLoop?.detail],
    ['warning', 'not tried, because there is no loop device'],
  );
});

test('a kernel parameter shows its value, also if it cannot be written', () => {
  assert.equal(rows({ 'kernel.pid_max': 'yes\t4194304' }).get('kernel.pid_max')?.detail, '4194304');
  const conntrack = rows({ 'net.netfilter.nf_conntrack_max': 'no\t262144' }).get(
    'net.netfilter.nf_conntrack_max',
  );
  assert.deepEqual(
    [conntrack?.result, conntrack?.detail, conntrack?.remedy],
    ['warning', "'262144', which cannot be written", 'use manifests/cf-deployment/kernel-parameters.yml'],
  );
  const core = rows({ 'kernel.core_pattern': 'no\t|/usr/lib/systemd/systemd-coredump %P' }).get(
    'kernel.core_pattern',
  );
  assert.deepEqual(
    [core?.result, core?.neededBy, core?.remedy],
    [
      ...['warning', 'cloud_controller_ng, for the whole node, without kernel-parameters.yml'],
      'use manifests/cf-deployment/kernel-parameters.yml',
    ],
  );
  const missing = 'no\tcat: /proc/sys/net/netfilter/nf_conntrack_max: No such file or directory';
  const detail = rows({ 'net.netfilter.nf_conntrack_max': missing }).get(
    'net.netfilter.nf_conntrack_max',
  )?.detail;
  assert.equal(detail, 'it does not exist');
});

test('a probe that was cut off does not look as if the node had what it did not try', () => {
  const report = parseProbeReport('loop\tyes\t/dev/loop0\nsome message\nxfs\tye');
  const findings = cloudFoundryFindings('node-1', report);
  const cut = findings.filter(({ detail }) => detail === 'the probe ended before it tried this');
  assert.equal(cut.length, findings.length - 2);
  assert.equal(findings.find(({ check }) => check === 'Overlay')?.result, 'failed');
  assert.equal(result({ overlay: 'yes\ton xfs' }, 'Overlay'), 'ok');
});
