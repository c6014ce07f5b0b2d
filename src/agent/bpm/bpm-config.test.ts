import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { isProductError } from '../../errors/product-error.ts';
import { parseBpmConfig } from './bpm-config.ts';
import type { BpmProcessConfig } from './bpm-config.ts';

const bounds = { base: '/var/vcap', own: ['/var/vcap/data/web', '/var/vcap/store/web'] };
const parse = (text: string): readonly BpmProcessConfig[] => parseBpmConfig(text, 'bpm.yml', bounds);
const withLine = (line: string): string => `processes:\n- name: web\n  executable: /bin/web\n  ${line}\n`;

test('reads a process with only its program, and one with all options', () => {
  assert.deepEqual(parse('processes: []'), []);
  assert.deepEqual(parse(''), []);
  const [least] = parse(withLine('env: ~'));
  assert.deepEqual(least, {
    ...{
      name: 'web',
      executable: '/bin/web',
      arguments: [],
      environment: {},
      volumes: [],
      unsupported: [],
    },
    ...{ workdir: undefined, preStart: undefined, memoryBytes: undefined, openFiles: undefined },
    ...{ coreFileBytes: undefined, ephemeralDisk: false, persistentDisk: false, isPrivileged: false },
    shutdownSignal: 'SIGTERM',
  });
  const [all] = parse(
    withLine(`args: [1, true, ~, "", a b, 18446744073709551616]
  env: { A: 1, B: ~, C: "", D: 99999999999999999999 }
  limits: { memory: 1.5G, open_files: 9, core_file_size: 5, processes: 3 }
  capabilities: [SYS_RESOURCE, CHOWN]
  unsafe: { privileged: true, unrestricted_volumes: [{ path: /etc/**/x }] }
  additional_volumes: [{ path: /var/vcap/data/a, shared: true }, { path: /var/vcap/data/b, mount_only: true }]
  shutdown_signal: INT`),
  );
  assert.deepEqual(all?.arguments, ['1', 'true', '', 'a b', '18446744073709551616']);
  assert.deepEqual(all.environment, { A: '1', B: '', C: '', D: '99999999999999999999' });
  assert.deepEqual([all.memoryBytes, all.openFiles, all.coreFileBytes], [1.5 * 1024 ** 3, 9, 5]);
  assert.deepEqual(
    [all.isPrivileged, all.shutdownSignal, all.volumes],
    [true, 'SIGINT', ['/var/vcap/data/a']],
  );
  assert.deepEqual(all.unsupported, ['capabilities SYS_RESOURCE, CHOWN', 'limits.processes']);
});

test('skips args that are empty after templating, and keeps quoted empty ones, as bpm does', () => {
  const args = ['-a', '', '""', "''", '~', '-b'].map((item) => `\n  - ${item}`).join('');
  assert.deepEqual(parse(withLine(`args:${args}`))[0]?.arguments, ['-a', '', '', '-b']);
});

for (const [text, bytes] of [
  ['1B', 1],
  ['1k', 1024],
  ['512M', 512 * 1024 ** 2],
  ['2GB', 2 * 1024 ** 3],
  ['2GiB', 2 * 1024 ** 3],
] as const) {
  test(`reads the memory ${text}`, () => {
    assert.equal(parse(withLine(`limits: { memory: ${text} }`))[0]?.memoryBytes, bytes);
  });
}

for (const line of [
  ...[
    'limits: { memory: 512 }',
    'limits: { memory: 0M }',
    'limits: { memory: -1G }',
    'limits: { open_files: many }',
  ],
  ...[
    'limits: { open_files: -1 }',
    'shutdown_signal: KILL',
    'env: { "a.b": x }',
    'env: { "A=B": x }',
    'env: [A]',
  ],
  ...[
    'args: ["a\\0b"]',
    'hooks: { pre_start: [a] }',
    'ephemeral_disk: perhaps',
    'additional_volumes: [{ path: /etc }]',
  ],
  'additional_volumes: [{ path: /var/vcap }]',
  'additional_volumes: [{ path: /var/vcap/data/../../../etc }]',
  'additional_volumes: [{ path: /var/vcap/data/x/ }]',
  'additional_volumes: [{ path: /var/vcap/data/web }]',
]) {
  test(`refuses ${line}`, () => {
    assert.throws(
      () => parse(withLine(line)),
      (error) => isProductError(error, 'AGENT_BPM_CONFIG_INVALID') && error.message.startsWith('bpm.yml:'),
    );
  });
}

test('property: any bpm.yml is parsed or rejected with a message', () => {
  const value = fc.jsonValue({ maxDepth: 2 });
  const keys = ['name', 'executable', 'args', 'env', 'hooks', 'limits', 'unsafe', 'additional_volumes'];
  const process = fc.dictionary(fc.constantFrom(...keys, 'shutdown_signal', 'capabilities'), value);
  const texts = fc.oneof(
    fc.string(),
    fc.array(process).map((processes) => JSON.stringify({ processes })),
  );
  fc.assert(
    fc.property(texts, (text) => {
      try {
        for (const { name } of parse(text)) assert.doesNotMatch(name, /\//);
      } catch (error) {
        if (!isProductError(error, 'AGENT_BPM_CONFIG_INVALID')) throw error;
      }
    }),
  );
});
