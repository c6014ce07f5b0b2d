import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { scratchDirectory } from '../../src/bosh/testing/scratch.ts';
import { parseCommand } from './command-line.ts';
import { clusterPathsOf } from './cluster-paths.ts';
import { missingForCluster } from './requirements.ts';

test('parses each command', () => {
  assert.deepEqual(parseCommand([]), {
    action: 'test',
    name: 'default',
    files: [],
    isDownAfter: false,
  });
  assert.deepEqual(parseCommand(['--name', 'a', '--up']), { action: 'up', name: 'a' });
  assert.deepEqual(parseCommand(['--down']), { action: 'down', name: 'default' });
  assert.deepEqual(parseCommand(['test/cluster/up.test.ts']), {
    action: 'test',
    name: 'default',
    files: ['test/cluster/up.test.ts'],
    isDownAfter: false,
  });
  assert.deepEqual(parseCommand(['--down', 'test/cluster']), {
    action: 'test',
    name: 'default',
    files: ['test/cluster'],
    isDownAfter: true,
  });
  assert.deepEqual(parseCommand(['--build', 'etcd']), { action: 'build', programs: ['etcd'] });
});

test('everything after --enter is the command', () => {
  const command = ['kubectl', 'get', '--name', 'x', '--down'];
  assert.deepEqual(parseCommand(['--name', 'a', '--enter', ...command]), {
    action: 'enter',
    name: 'a',
    command,
  });
});

test('everything from a main.ts on is a program and its arguments', () => {
  const program = ['bench/attach/main.ts', '20', '--json'];
  assert.deepEqual(parseCommand(['--name', 'a', ...program]), { action: 'run', name: 'a', program });
  assert.throws(() => parseCommand(['--down', ...program]), /do not go together/);
  assert.throws(() => parseCommand(['test/cluster', ...program]), /do not go together/);
});

test('rejects ambiguous arguments with the usage', () => {
  for (const args of [['--up', '--down'], ['--up', 'a.test.ts'], ['--enter'], ['--up', '--enter', 'true']]) {
    assert.throws(() => parseCommand(args), /npm run test:cluster/);
  }
  assert.throws(() => parseCommand(['--what']), /--what/);
});

test('a name of a cluster is part of paths and of control groups', () => {
  for (const name of ['', '../a', 'A', 'a'.repeat(21), '-a']) {
    assert.throws(() => clusterPathsOf(name, { HOME: '/h' }), /is no name for a cluster/);
  }
  const { directory } = clusterPathsOf('a-1', { HOME: '/h' });
  assert.equal(directory, '/h/.local/state/bosh-kubernetes/clusters/a-1');
  assert.equal(clusterPathsOf('a', { XDG_STATE_HOME: '/s' }).directory, '/s/bosh-kubernetes/clusters/a');
});

test('names a missing program with the command that installs it', () => {
  assert.match(
    missingForCluster({ PATH: '/nowhere' }) ?? '',
    /needs .*Go .*containerd.*; apt-get install .*runc/,
  );
});

test('a CNI plugin that the pod network is made by is missing, be it one of them', async (t) => {
  const directory = await scratchDirectory(t);
  const lacks = (): boolean => /CNI plugins/u.test(missingForCluster(process.env, directory) ?? '');
  for (const name of ['host-local', 'bridge']) {
    assert.ok(lacks(), name);
    await writeFile(join(directory, name), '');
  }
  assert.ok(!lacks());
});
