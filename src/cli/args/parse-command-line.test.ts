import assert from 'node:assert/strict';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseBuildArguments } from '../stemcell/build-arguments.ts';
import { parseLoadArguments } from '../stemcell/load.ts';
import { parsePushTarget } from '../stemcell/push-arguments.ts';
import { parseEnvArguments } from './env-arguments.ts';
import { parseStatusArguments } from './kubernetes-arguments.ts';
import { parseOrphansArguments } from './orphans-arguments.ts';
import { expandHome } from './parse-command-line.ts';

const inHome = (name: string): string => join(homedir(), name);

test('only a leading ~ stands for the home directory', () => {
  assert.equal(expandHome('~'), join(homedir(), ''));
  assert.equal(expandHome('~/a/b'), inHome('a/b'));
  for (const path of ['~other/a', 'a/~/b', './~', '/~']) assert.equal(expandHome(path), path);
});

test('each path that create-env and delete-env take may begin with ~/', () => {
  const flags = ['--state=~/s', '--vars-store=~/c', '--var-file=ca=~/ca', '-l~/v', '--ops-file=~/o'];
  for (const command of ['create-env', 'delete-env'] as const) {
    const parsed = parseEnvArguments(command, ['~/m.yml', ...flags]);
    assert.equal(parsed.manifestPath, inHome('m.yml'));
    assert.equal(parsed.statePath, inHome('s'));
    assert.equal(parsed.varsStorePath, inHome('c'));
    assert.deepEqual(parsed.variableFiles, { ca: inHome('ca') });
    assert.deepEqual(parsed.varsFiles, [inHome('v')]);
    assert.deepEqual(parsed.opsFiles, [inHome('o')]);
  }
});

test('each path that the other commands take may begin with ~/', () => {
  assert.equal(parseOrphansArguments(['--kubeconfig=~/k']).kubeconfig, inHome('k'));
  assert.deepEqual(parseStatusArguments(['~/m', '--kubeconfig=~/k', '--state=~/s']), {
    ...{ details: false, watch: false },
    manifestPath: inHome('m'),
    kubeconfig: inHome('k'),
    state: inHome('s'),
  });

  const debian = ['--from-debian', '--profile=baseline', '--output=~/out', '--agent=~/a', '--monit=~/m'];
  const built = parseBuildArguments(debian);
  assert.equal(built.output, inHome('out'));
  assert.deepEqual(built.from.kind === 'debian' && [built.from.agent, built.from.monit], [
    inHome('a'),
    inHome('m'),
  ]);
  const { from } = parseBuildArguments(['--from=~/root.tar', '--output=out']);
  assert.equal(from.kind === 'source' && from.path, inHome('root.tar'));

  const loaded = parseLoadArguments(['~/out', '--address=~/c.sock']);
  assert.equal(loaded.directory, inHome('out'));
  assert.deepEqual(loaded.destination, { kind: 'containerd', address: inHome('c.sock') });

  const target = parsePushTarget('r.example/a', { authfile: '~/auth', 'registry-ca': '~/ca' });
  assert.deepEqual([target.authFile, target.caFile], [inHome('auth'), inHome('ca')]);
});
