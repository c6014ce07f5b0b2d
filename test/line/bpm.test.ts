import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { packRelease } from '../../src/bosh/release/pack-release.ts';
import { loadAccess } from '../../src/kubernetes/load-access.ts';
import { execInPod } from '../../src/kubernetes/pod-exec.ts';
import { assertSucceeded } from '../crash/support/converged.ts';
import { EmbeddedLine, namespace } from '../crash/support/embedded-line.ts';

const bpm = '/var/vcap/jobs/bpm/bin/bpm';

/** A release in the shape of bpm-release: the program needs containers, which a pod's kernel refuses. */
const bpmRelease = {
  'config/final.yml': 'name: bpm\n',
  'jobs/bpm/spec': `name: bpm
templates: { bpm: bin/bpm, setup.erb: bin/setup, pre-start.erb: bin/pre-start }
packages: [bpm]
properties: {}
`,
  'jobs/bpm/monit': '',
  'jobs/bpm/templates/bpm': '#!/bin/bash\nulimit -n 524288\n/var/vcap/packages/bpm/bin/bpm "$@"\n',
  'jobs/bpm/templates/setup.erb': '#!/usr/bin/env bash\nexport PATH=/var/vcap/jobs/bpm/bin:$PATH\n',
  'jobs/bpm/templates/pre-start.erb': `#!/bin/bash
set -e
mkdir -p /var/vcap/sys/log/bpm
chown -R vcap:vcap /var/vcap/sys/log/bpm
cp /var/vcap/jobs/bpm/bin/setup /etc/profile.d/bpm.sh
`,
  'packages/bpm/spec': 'name: bpm\ndependencies: []\nfiles: [bpm/**/*]\n',
  'packages/bpm/packaging':
    'set -e\nmkdir -p "$BOSH_INSTALL_TARGET/bin"\ncp bpm/bpm "$BOSH_INSTALL_TARGET/bin/"\n',
  'src/bpm/bpm': '#!/bin/sh\nexec unshare --pid --fork --mount --mount-proc "$@"\n',
};

const queueRelease = {
  'config/final.yml': 'name: queue\n',
  'jobs/queue/spec': `name: queue
templates: { bpm.yml.erb: config/bpm.yml, pre-start: bin/pre-start, warm-up: bin/warm-up }
packages: [queue]
properties: { queue.topic: { description: What it is about } }
`,
  'jobs/queue/monit': `check process queue
  with pidfile /var/vcap/sys/run/bpm/queue/queue.pid
  start program "${bpm} start queue"
  stop program "${bpm} stop queue"
  group vcap
`,
  'jobs/queue/templates/bpm.yml.erb': `processes:
- name: queue
  executable: /var/vcap/packages/queue/bin/queue
  args: [--topic, <%= p('queue.topic') %>]
  env: { SECRET_KEY: kept }
  persistent_disk: true
  ephemeral_disk: true
  hooks: { pre_start: /var/vcap/jobs/queue/bin/warm-up }
  limits: { memory: 512M, open_files: 2048 }
- name: errand
  executable: /bin/sh
  args: [-c, 'echo "errand of $(id -un)"; exit 3']
`,
  'jobs/queue/templates/pre-start': '#!/bin/bash\nset -e\nmkdir -p /var/vcap/store/queue\n',
  'jobs/queue/templates/warm-up': '#!/bin/sh\necho "warm as $(id -un)"\n',
  'packages/queue/spec': 'name: queue\ndependencies: []\nfiles: [queue/**/*]\n',
  'packages/queue/packaging':
    'set -e\nmkdir -p "$BOSH_INSTALL_TARGET/bin"\ninstall -m 755 queue/queue "$BOSH_INSTALL_TARGET/bin/"\n',
  'src/queue/queue': `#!/bin/sh
echo "queue of $(id -un) about $2"
echo "$$ $2" >> /var/vcap/store/queue/lives
trap 'echo bye; exit 0' TERM
sleep 100000 & wait
`,
};

let line: EmbeddedLine;

before(async () => {
  line = await EmbeddedLine.prepare({ address: '127.64.79.50' });
  for (const [name, files] of Object.entries({ bpm: bpmRelease, queue: queueRelease })) {
    for (const [path, content] of Object.entries(files)) {
      const file = join(line.directory, name, path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, content);
    }
    const outFile = join(line.directory, `${name}.tgz`);
    await packRelease({ directory: join(line.directory, name), version: '1', outFile });
  }
  await line.edit((text) =>
    text
      .replace(/ {2}- name: hello\n {4}url: .*hello-release.tgz/, release('bpm') + release('queue').trimEnd())
      .replace(/ {6}- name: hello\n {8}release: hello\n/, job('bpm') + job('queue'))
      .replace(
        / {6}hello:\n {8}port: 8080\n {8}audience: operators\n/,
        '      queue:\n        topic: news\n',
      ),
  );
  assertSucceeded(await line.command(['cluster', 'start']));
});
after(() => line.remove());

const release = (name: string): string =>
  `  - name: ${name}\n    url: file://${line.directory}/${name}.tgz\n`;
const job = (name: string): string => `      - name: ${name}\n        release: ${name}\n`;

async function inVm(
  ...command: readonly string[]
): Promise<{ exitCode: number; stdout: string; stderr: string }> {
  const access = await loadAccess(await readFile(line.kubeconfig, 'utf8'));
  const { current_vm_cid: pod = '' } = JSON.parse(await readFile(line.statePath, 'utf8')) as Record<
    string,
    string
  >;
  return execInPod(access, { namespace, pod, container: 'bosh', command, deadlineMs: 60_000 });
}

test('a release in the form of bpm goes up, changes, is looked at, and goes down', async () => {
  assertSucceeded(await line.createEnv());
  const listed = await inVm(bpm, 'list');
  assert.match(
    listed.stdout,
    /^Name +Pid +Status\nqueue +[0-9]+ +running\nqueue\.errand +- +stopped\n$/,
    listed.stderr,
  );
  const { stdout: pid } = await inVm(bpm, 'pid', 'queue');
  const log = await inVm('cat', '/var/vcap/sys/log/queue/queue.stdout.log');
  assert.equal(log.stdout, 'warm as root\nqueue of vcap about news\n');
  const kept = await inVm('cat', '/var/vcap/monit/log/queue.log');
  assert.equal(
    kept.stdout,
    'bpm: queue/queue runs as vcap in the VM itself; left out on the embedded node: container\n',
  );
  const errand = await inVm(bpm, 'run', 'queue', '-p', 'errand');
  assert.deepEqual([errand.exitCode, errand.stdout], [3, 'errand of vcap\n']);
  const monit = await inVm('/var/vcap/bosh/bin/monit', 'summary');
  assert.match(monit.stdout, /Process 'queue' +running/);

  await line.edit((text) => text.replace('topic: news', 'topic: weather'));
  assertSucceeded(await line.createEnv());
  const lives = await inVm('cat', '/var/vcap/store/queue/lives');
  assert.match(lives.stdout, new RegExp(`^${pid.trim()} news\\n[0-9]+ weather\\n$`), 'the disk is kept');
  assertSucceeded(await line.deleteEnv());
});
