import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { packTar } from 'modern-tar';
import { openStemcell } from '../bosh/stemcell/open-stemcell.ts';
import { scratchDirectory } from '../bosh/testing/scratch.ts';
import { addTarLayer } from '../oci/layer/add-layer.ts';
import { addImage } from '../oci/layout/add-image.ts';
import { openLayout } from '../oci/layout/open-layout.ts';
import { writeLayout } from '../oci/layout/write-layout.ts';
import { type DebianStemcellRequest, buildDebianStemcell } from './build-debian-stemcell.ts';
import { convertStemcell } from './convert-stemcell.ts';
import type { DebianRoot } from './debian/debian-root.ts';
import type { PublishedStemcell } from './write-stemcell.ts';
import { filesOverRoot } from './testing/files-over-root.ts';

/** Makes a root with a shell and, unless it is empty, an os-release. */
async function smallRoot(directory: string, osRelease = debian): Promise<DebianRoot> {
  const header = { name: './usr/lib/os-release', size: osRelease.length };
  const tar = await packTar([
    { header: { name: './bin/sh', size: 2, mode: 0o755 }, body: '#!' },
    ...(osRelease === '' ? [] : [{ header, body: osRelease }]),
  ]);
  const { layer } = await writeLayout(directory, async (blobs) => {
    const added = await addTarLayer(blobs, {
      bytes: (async function* () {
        yield tar;
      })(),
      label: 'root',
    });
    const manifest = await addImage(blobs, { config: {}, layers: [added.descriptor] });
    return { manifest, reference: 'root', architecture: 'amd64', layer: added };
  });
  return { ...layer, image: await openLayout(directory), packages: 'bash 5.2 amd64\n' };
}

const debian = 'ID=debian\nVERSION_CODENAME=bookworm\n';

interface Bench {
  readonly directory: string;
  readonly warnings: readonly string[];
  readonly build: (output: string, more?: Partial<DebianStemcellRequest>) => Promise<PublishedStemcell>;
}

async function workbench(t: TestContext): Promise<Bench> {
  const directory = await scratchDirectory(t);
  const root = await smallRoot(join(directory, 'root'));
  const agent = join(directory, 'agent');
  const warnings: string[] = [];
  await writeFile(agent, '#!/bin/sh\n');
  const request = {
    suite: 'bookworm',
    profile: 'baseline',
    root,
    epoch: 5,
    agent,
    architecture: 'amd64',
    isOwnAgent: true,
    warn: (sentence: string) => void warnings.push(sentence),
    signal: t.signal,
  } as const;
  return {
    ...{ directory, warnings },
    build: (output, more = {}) =>
      buildDebianStemcell({ ...request, output: join(directory, output), ...more }),
  };
}

test('the agent, the services and the paths of a VM are added to the root', async (t) => {
  const { directory, build } = await workbench(t);
  const made = await build('out');
  const files = await filesOverRoot(made.layout);
  assert.deepEqual(files.get('usr/lib/bosh-kubernetes/bosh-agent'), {
    text: '#!/bin/sh\n',
    mode: 0o755,
    target: '',
  });
  assert.equal(files.get('var/vcap/bosh/bin/bosh-agent')?.target, '/usr/lib/bosh-kubernetes/bosh-agent');
  assert.equal(files.get('usr/lib/bosh-kubernetes/init')?.mode, 0o755);
  assert.equal(files.get('etc/sudoers.d/bosh_sudoers')?.mode, 0o440);
  assert.equal(files.get('var/vcap/bosh/etc/stemcell_version')?.text, made.version);
  assert.equal(files.get('var/vcap/bosh/etc/operating_system')?.text, 'debian-bookworm');
  assert.ok(files.has('warden-cpi-dev/'));
  assert.match(files.get('var/vcap/bosh/bin/monit')?.text ?? '', /bosh-agent monit .*control\.sock "\$@"/);
  // An upstream agent exits if this file is missing.
  assert.equal(files.get('var/vcap/bosh/bin/bosh-agent-rc')?.mode, 0o755);
  assert.equal(await readFile(join(directory, 'out', 'packages.txt'), 'utf8'), 'bash 5.2 amd64\n');
  const light = await openStemcell({
    archivePath: made.archive,
    directory: join(directory, 'light'),
    within: directory,
  });
  assert.equal(light.name, 'bosh-kubernetes-debian-bookworm-baseline');
  assert.deepEqual(light.cloudProperties, {
    ...{ image_reference: made.image, digest: made.manifest.digest },
    architecture: made.architecture,
    ...{ agent: 'bosh-kubernetes', agent_bus: 'nats' },
  });
});

test("the operating system is that of the root, whatever the suite's alias is, and no other", async (t) => {
  const { directory, build, warnings } = await workbench(t);
  const systemOf = async (made: PublishedStemcell): Promise<unknown[]> => [
    made.operatingSystem,
    (await filesOverRoot(made.layout)).get('var/vcap/bosh/etc/operating_system')?.text,
  ];
  const own = ['debian-bookworm', 'debian-bookworm'];
  assert.deepEqual(await systemOf(await build('stable', { suite: 'stable' })), own);
  const suffixed = await build('suffix', { operatingSystem: 'debian-bookworm-cis' });
  assert.deepEqual(await systemOf(suffixed), ['debian-bookworm-cis', 'debian-bookworm-cis']);
  const before = await readdir(directory);
  await assert.rejects(build('other', { operatingSystem: 'ubuntu-noble' }), {
    code: 'INVALID_ARGUMENT',
    message: /called 'ubuntu-noble', because os-release .* is debian-bookworm/,
  });
  assert.deepEqual(await readdir(directory), before);
  const noble = await smallRoot(join(directory, 'noble'), 'ID=ubuntu\nVERSION_CODENAME=noble\n');
  assert.equal((await build('mirror', { root: noble, suite: 'noble' })).operatingSystem, 'ubuntu-noble');
  assert.deepEqual(warnings, []);
  const nameless = await smallRoot(join(directory, 'nameless'), '');
  assert.deepEqual(await systemOf(await build('nameless-out', { root: nameless })), own);
  assert.match(warnings.join(), /no file os-release .* whether it is 'debian-bookworm'/);
});

test("the image has our licence, and the notices of our agent's contents", async (t) => {
  const { directory, build } = await workbench(t);
  const documents = async (made: PublishedStemcell): Promise<readonly (string | undefined)[]> => {
    const files = await filesOverRoot(made.layout);
    return ['LICENSE', 'NOTICE'].map((name) => files.get(`usr/share/doc/bosh-kubernetes/${name}`)?.text);
  };
  const license = await readFile(join(import.meta.dirname, '..', '..', 'LICENSE'), 'utf8');
  const notice = join(directory, 'NOTICE');
  await writeFile(notice, 'it holds a thing\n');
  assert.deepEqual(await documents(await build('ours', { notice })), [license, 'it holds a thing\n']);
  assert.deepEqual(await documents(await build('theirs', { isOwnAgent: false })), [license, undefined]);
});

test('a stemcell made from its own image also records its agent and the bus of the agent', async (t) => {
  const { directory, build } = await workbench(t);
  const agentOf = async (layout: string, output: string): Promise<unknown[]> => {
    const converted = await convertStemcell({
      ...{ source: layout, output: join(directory, output), architecture: 'amd64' },
      ...{ epoch: 5, warn: () => undefined, signal: t.signal },
    });
    const light = await openStemcell({
      ...{ archivePath: converted.archive, directory: join(directory, 'light'), within: directory },
    });
    const { agent, agent_bus: bus } = light.cloudProperties;
    return [agent, bus];
  };
  const ours = await build('ours');
  assert.deepEqual(await agentOf(ours.layout, 'ours-again'), ['bosh-kubernetes', 'nats']);
  const theirs = await build('theirs', { isOwnAgent: false });
  assert.deepEqual(await agentOf(theirs.layout, 'theirs-again'), [undefined, undefined]);
  // An image of a version whose agent did not speak NATS has no label of the bus.
  const older = await withoutLabel(ours.layout, join(directory, 'older'), 'bosh.cloudfoundry.org/agent-bus');
  assert.deepEqual(await agentOf(older, 'older-again'), ['bosh-kubernetes', undefined]);
});

/** Copies an image without one of its labels. Returns the layout. */
async function withoutLabel(layout: string, copy: string, name: string): Promise<string> {
  const image = await openLayout(layout);
  const config = JSON.parse((await buffer(image.open(image.config))).toString()) as {
    readonly config: { readonly Labels: Readonly<Record<string, string>> };
  };
  const { [name]: value, ...labels } = config.config.Labels;
  assert.ok(value !== undefined, `the image has a label ${name}`);
  await writeLayout(copy, async (blobs) => {
    for (const layer of image.layers) await blobs.add(layer.mediaType, image.open(layer));
    const changed = { ...config, config: { ...config.config, Labels: labels } };
    const manifest = await addImage(blobs, { config: changed, layers: image.layers });
    return { manifest, reference: 'older', architecture: 'amd64' };
  });
  return copy;
}

test('the agent settings depend on the profile', async (t) => {
  const { build } = await workbench(t);
  const settings = async (made: PublishedStemcell): Promise<unknown> =>
    (
      JSON.parse((await filesOverRoot(made.layout)).get('var/vcap/bosh/agent.json')?.text ?? '') as {
        Platform: { Linux: object };
      }
    ).Platform.Linux;
  const common = {
    UseDefaultTmpDir: true,
    UsePreformattedPersistentDisk: true,
    BindMountPersistentDisk: true,
    SkipDiskSetup: true,
    ServiceManager: 'systemd',
  };
  assert.deepEqual(await settings(await build('p', { profile: 'privileged' })), common);
  assert.deepEqual(await settings(await build('b')), { ...common, UseMonitIptablesFirewall: true });
});

test('profiles differ only in the last layer, which has no program', async (t) => {
  const { build } = await workbench(t);
  const layersOf = async (made: PublishedStemcell): Promise<string[]> =>
    (await openLayout(made.layout)).layers.map(({ digest }) => digest);
  const [one, two] = [
    await layersOf(await build('b')),
    await layersOf(await build('p', { profile: 'privileged' })),
  ];
  assert.equal(one.length, 3);
  assert.deepEqual(one.slice(0, 2), two.slice(0, 2));
  assert.notEqual(one[2], two[2]);
});

test('the same root and agent give the same bytes, and another agent gives another version', async (t) => {
  const { directory, build } = await workbench(t);
  const [one, two] = [await build('one'), await build('two')];
  assert.deepEqual([one.manifest, one.version], [two.manifest, two.version]);
  assert.deepEqual(await readFile(one.archive), await readFile(two.archive));
  const other = join(directory, 'other-agent');
  await writeFile(other, '#!/bin/sh\nexit\n');
  const changed = await build('three', { agent: other, monit: other, isOwnAgent: false });
  assert.notEqual(changed.version, one.version);
  assert.equal(
    (await filesOverRoot(changed.layout)).get('var/vcap/bosh/bin/monit')?.target,
    '/usr/lib/bosh-kubernetes/monit',
  );
  const light = await openStemcell({
    archivePath: changed.archive,
    directory: join(directory, 'light'),
    within: directory,
  });
  assert.equal(light.cloudProperties['agent'], undefined);
});

test('a failed build leaves no files', async (t) => {
  const { directory, build } = await workbench(t);
  const before = await readdir(directory);
  await assert.rejects(build('out', { agent: join(directory, 'none') }));
  assert.deepEqual(await readdir(directory), before);
});

test('a build that is interrupted at any step leaves no files', async (t) => {
  const { directory, build } = await workbench(t);
  const root = await smallRoot(join(directory, 'another-root'));
  const before = await readdir(directory);
  const { image } = root;
  const cases: Readonly<Record<string, (interrupt: () => void) => DebianRoot>> = {
    'while the root is read': (interrupt) => ({
      ...root,
      image: {
        ...image,
        open: (blob) => {
          interrupt();
          return image.open(blob);
        },
      },
    }),
    'at its end': (interrupt) => ({
      ...root,
      get packages() {
        interrupt();
        return root.packages;
      },
    }),
  };
  for (const [when, rootThat] of Object.entries(cases)) {
    const interrupted = new AbortController();
    const interrupts = rootThat(() => interrupted.abort(new Error('interrupted by SIGTERM')));
    const made = build('out', { root: interrupts, signal: interrupted.signal });
    await assert.rejects(made, /interrupted by SIGTERM/, when);
    assert.deepEqual(await readdir(directory), before, when);
  }
});
