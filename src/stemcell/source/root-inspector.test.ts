import assert from 'node:assert/strict';
import { test } from 'node:test';
import { packTar, type TarHeader } from 'modern-tar';
import { checkRootTar } from '../../oci/tar/check-root-tar.ts';
import { createRootInspector, type RootInspector } from './root-inspector.ts';

type Entry = Omit<TarHeader, 'size'> & { readonly body?: string };

const agent = 'var/vcap/bosh/bin/bosh-agent';
const file = (name: string, mode = 0o755): Entry => ({ name, mode });
const directory = (name: string): Entry => ({ name, type: 'directory', mode: 0o755 });
const link = (name: string, linkname: string): Entry => ({ name, type: 'symlink', linkname, mode: 0o777 });
const hard = (name: string, linkname: string): Entry => ({ name, type: 'link', linkname, mode: 0o755 });

/** Inspects a root. The bottom layer comes first. */
async function inspect(layers: readonly Entry[][]): Promise<RootInspector> {
  const root = createRootInspector();
  for (const [index, entries] of layers.entries()) {
    const tar = await packTar(
      entries.map(({ body = '', ...header }) => ({ header: { ...header, size: body.length }, body })),
    );
    const options = { onEntry: root.nextLayer(), isUpper: index > 0 };
    async function* bytes(): AsyncGenerator<Uint8Array> {
      yield tar;
    }
    for await (const _ of checkRootTar(bytes(), 'root', options));
  }
  return root;
}

/** Returns the missing programs of a root: empty, or the end of the error's first sentence. */
async function lackOf(...layers: Entry[][]): Promise<string> {
  const root = await inspect(layers);
  try {
    root.check("'here'");
  } catch (error) {
    assert.ok(error instanceof Error && 'code' in error && error.code === 'STEMCELL_INVALID', String(error));
    return /it has no (.*?)\. To build/.exec(error.message)?.[1] ?? error.message;
  }
  return '';
}

const noAgent = `program /${agent}`;
const noShell = 'program /bin/sh';
const whole = [file('./bin/sh'), file(`./${agent}`)];

test('the agent and the shell are programs, through any links in the root', async () => {
  const cases: readonly Entry[][] = [
    whole,
    [link('bin', 'usr/bin'), file('usr/bin/dash'), link('usr/bin/sh', 'dash'), file(agent)],
    [
      link('bin', '/usr/bin'),
      link('usr/bin/sh', '/etc/alternatives/sh'),
      link('etc/alternatives/sh', '/bin/dash'),
      file('usr/bin/dash'),
      file(agent),
    ],
    [file('bin/busybox'), hard('bin/sh', './bin/busybox'), file(agent)],
    [file('bin/dash'), link('bin/ash', 'dash'), hard('bin/sh', 'bin/ash'), file(agent)],
    [
      link('bin', '../../usr/bin'),
      file('usr/bin/sh'),
      link(agent, '../../../../opt/agent'),
      file('opt/agent'),
    ],
    [directory('bin'), ...whole, file('bin/sh', 0o700), file(agent, 0o711)],
  ];
  for (const [index, entries] of cases.entries()) assert.equal(await lackOf(entries), '', `case ${index}`);
});

test('a path that is not a program is not accepted as one', async () => {
  const cases: readonly [Entry[], string][] = [
    [[file('etc/hosts')], `${noAgent} and no ${noShell}`],
    [[file('bin/sh'), directory(agent)], noAgent],
    [[file('bin/sh'), file(agent), directory(agent)], noAgent],
    [[file('bin/sh'), file(agent, 0o644)], noAgent],
    [[link('bin/sh', 'dash'), link(agent, '/opt/agent')], `${noAgent} and no ${noShell}`],
    [[link('bin/sh', 'sh'), file(agent)], noShell],
    [[link('bin', 'usr/bin'), link('usr/bin', '/bin'), file(agent)], noShell],
    [[file('usr/bin/sh'), file(agent)], noShell],
    [[hard('bin/sh', 'bin/none'), file('bin/none'), file(agent)], noShell],
  ];
  for (const [index, [entries, lack]] of cases.entries()) {
    // Above an empty layer: in the lowest layer, links to a missing target are rejected earlier.
    assert.equal(await lackOf([], entries), lack, `case ${index}`);
  }
});

test('an upper layer deletes and replaces files, and adds its own', async () => {
  const bin = 'var/vcap/bosh/bin';
  const cases: readonly [Entry[][], string][] = [
    [[whole, [file(`${bin}/.wh.bosh-agent`)]], noAgent],
    [[whole, [file('var/.wh.vcap')]], noAgent],
    [[whole, [file('var/vcap/.wh..wh..opq')]], noAgent],
    [[whole, [file('bin/.wh..wh..opq')]], noShell],
    [[whole, [file('.wh..wh..opq')]], `${noAgent} and no ${noShell}`],
    [[whole, [directory(agent)]], noAgent],
    [[whole, [file('var')]], noAgent],
    [[whole, [link('bin', 'usr/bin')]], noShell],
    [[whole, [link('bin/sh', 'dash')]], noShell],
    // A mark does not delete files of its own layer, in whatever order they come (image-spec, layer.md).
    [[whole, [file(`${bin}/.wh..wh..opq`), file(agent)]], ''],
    [[whole, [file(agent), file(`${bin}/.wh..wh..opq`)]], ''],
    [[whole, [file(agent), file('var/.wh.vcap')]], ''],
    [[whole, [file('var/vcap/.wh..wh..opq')], [file(agent)]], ''],
    [[whole, [file(agent)], [file('var/vcap/.wh..wh..opq')]], noAgent],
    [[whole, [file('bin/.wh.bash'), file('usr/.wh..wh..opq'), file('bin/sh/.wh..wh..opq')]], ''],
    [[whole, [link('bin', 'usr/bin')], [directory('bin'), file('bin/sh')]], ''],
    [[[link('bin', 'usr/bin'), ...whole.slice(1)], [file('usr/bin/sh')]], ''],
    [[[link('bin', 'usr/bin'), file('usr/bin/sh'), ...whole.slice(1)], [directory('bin')]], noShell],
    [
      [whole, [hard('usr/bin/agent', agent), file(`${bin}/.wh.bosh-agent`)], [link(agent, '/usr/bin/agent')]],
      '',
    ],
  ];
  for (const [index, [layers, lack]] of cases.entries())
    assert.equal(await lackOf(...layers), lack, `case ${index}`);
});

test('the operating system is that of the os-release which programs of the root read', async () => {
  const release = (name: string, id: string, more = ''): Entry => ({
    ...file(name, 0o644),
    body: `ID=${id}\nVERSION_CODENAME=one\n${more}`,
  });
  const usual = [link('etc/os-release', '../usr/lib/os-release'), release('usr/lib/os-release', 'a')];
  const cases: readonly [Entry[][], string | undefined][] = [
    [[usual], 'a'],
    [[[release('./etc/os-release', 'b'), release('usr/lib/os-release', 'a')]], 'b'],
    [[[release('usr/lib/os-release', 'a')]], 'a'],
    [[[release('usr/lib/os-release', 'a'), release('usr/lib/os-release', 'b')]], 'b'],
    [[[release('a/os-release', 'a'), hard('etc/os-release', 'a/os-release')]], 'a'],
    [[[link('etc', 'usr/etc'), release('usr/etc/os-release', 'a')]], 'a'],
    [[[...usual], [release('usr/lib/os-release', 'b')]], 'b'],
    [[[...usual], [file('etc/.wh.os-release', 0)]], 'a'],
    [[[...usual], [file('usr/lib/.wh.os-release', 0)]], undefined],
    [[[...usual], [file('usr/.wh..wh..opq', 0)]], undefined],
    [[[link('etc/os-release', '/os-release'), release('usr/etc/os-release', 'a')]], undefined],
    [[[link('etc/os-release', 'os-release')]], undefined],
    [[[directory('etc/os-release')]], undefined],
    [[[release('usr/lib/os-release', 'a', '#'.repeat(64 * 1024))]], undefined],
    [[[{ ...file('etc/os-release'), body: '' }]], undefined],
    [[whole], undefined],
  ];
  for (const [index, [layers, expected]] of cases.entries()) {
    const found = (await inspect(layers)).osRelease();
    assert.deepEqual(
      found,
      expected === undefined ? undefined : { distribution: expected, codeName: 'one' },
      `case ${index}`,
    );
  }
});
