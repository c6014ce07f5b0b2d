import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { after, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { parse, stringify } from 'yaml';
import { interpolateTemplate } from '../../src/bosh/manifest/interpolate-template.ts';
import { applyOperations, readOpsFile } from '../../src/bosh/manifest/ops-file.ts';
import { readGivenYaml } from '../../src/bosh/yaml/parse-yaml.ts';
import { toValue } from '../../src/bosh/yaml/yaml-node.ts';
import { chooseVariables } from '../../src/director/cloud-foundry/choose-variables.ts';
import { layouts } from '../../src/director/cloud-foundry/layout-vms.ts';
import { foundryOpsFiles, foundrySystems } from '../../src/director/cloud-foundry/ops-files.ts';
import type { JsonObject } from '../../src/platform/json.ts';
import { operationsBetween, pathsOf, treeOf } from '../director/manifest-paths.ts';
import { changed, pathsIn } from '../director/path-lists.ts';
import { boshCli } from '../support/upstream-programs.ts';
import { keptPaths, listName, upstreamFiles } from './upstream.ts';

/**
 * cf-deployment as documents with only its paths (paths/, by write-paths.ts), or a checkout of it with
 * CF_DEPLOYMENT, and our unchanged files. With BOSH_CLI the bosh CLI applies them, else this program.
 */
const { CF_DEPLOYMENT: checkout = '', BOSH_CLI: named = '' } = process.env;
const program = named === '' ? undefined : boshCli();
const directory = mkdtempSync(join(tmpdir(), 'bosh-kubernetes-cf-'));
after(() => {
  rmSync(directory, { recursive: true });
});

const lists = new URL('paths/', import.meta.url);
const whole = pathsIn(lists, 'cf-deployment');
const manifest =
  checkout === '' ? made('cf-deployment', treeOf(whole)) : resolve(checkout, 'cf-deployment.yml');
const upstream = new Map(upstreamFiles.map((name) => [name as string, upstreamPath(name)]));

function made(name: string, document: unknown): string {
  const path = join(directory, `${name}.yml`);
  writeFileSync(path, stringify(document));
  return path;
}

function upstreamPath(name: string): string {
  if (checkout !== '') return resolve(checkout, 'operations', `${name}.yml`);
  const now = changed(whole, pathsIn(lists, listName(name)));
  return made(listName(name), operationsBetween(treeOf(whole), treeOf(now)));
}

const directories = ['manifests/cf-deployment/', 'release/volumes/operations/'].map(
  (folder) => new URL(`../../${folder}`, import.meta.url).pathname,
);
/** Our ops files for the manifest; the others of these folders are for runtime-configs. */
const own = new Map(
  directories
    .flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)))
    .filter((path) => path.endsWith('.yml') && !/\/(?:dns|runtime-config)\.yml$/u.test(path))
    .map((path) => [basename(path), path]),
);
const pathOf = (name: string): string => upstream.get(name) ?? own.get(name) ?? name;

interface Statement {
  readonly needs: readonly string[];
  readonly either: readonly string[];
  readonly without: readonly string[];
}

/** Returns what the first lines of one of our files say about cf-deployment's files. */
function statementOf(name: string): Statement {
  const [comment = ''] = readFileSync(pathOf(name), 'utf8').split(/^- type/mu);
  const text = comment.replaceAll(/\n# {3}/gu, ' ');
  const listed = (words: string): string[] =>
    new RegExp(`^# - ${words}: (.*)$`, 'mu').exec(text)?.[1]?.split(', ') ?? [];
  return {
    needs: listed('it needs before it'),
    either: listed('it goes before or after'),
    without: listed('it does not go with'),
  };
}

const base = readGivenYaml(manifest);
const operations = new Map<string, ReturnType<typeof readOpsFile>>();

async function render(names: readonly string[], template = manifest): Promise<unknown> {
  const paths = names.map(pathOf);
  if (program !== undefined) {
    const args = ['int', template, ...paths.flatMap((path) => ['-o', path])];
    const { stdout } = await promisify(execFile)(program, args, { maxBuffer: 2 ** 26 });
    return parse(stdout) as unknown;
  }
  let document = await (template === manifest ? base : readGivenYaml(template));
  for (const path of paths) {
    const read = operations.get(path) ?? readOpsFile(path);
    operations.set(path, read);
    document = applyOperations(document, await read);
  }
  return toValue(document);
}

/**
 * Asserts that an operation of type test with this sentence refuses the last file. The bosh CLI names only
 * the file and the number of the operation (bosh-cli: cmd/opts/ops_file_arg.go).
 */
const assertRefused = (names: readonly string[], sentence: string, template = manifest): Promise<void> =>
  assert.rejects(render(names, template), (error) => {
    assert.ok(error instanceof Error);
    const path = pathOf(names.at(-1) ?? '');
    const list = parse(readFileSync(path, 'utf8')) as readonly Operation[];
    const number = list.findIndex(({ type, error: text }) => type === 'test' && text?.startsWith(sentence));
    assert.notEqual(number, -1, `${path} has no test with the sentence ${sentence}`);
    const shown = program === undefined ? sentence : `operation [${number}] in ${path} failed`;
    assert.ok(error.message.includes(shown), `${names.join(' ')}: ${error.message}`);
    return true;
  });

interface Job {
  readonly name: string;
  readonly properties?: Record<string, unknown>;
}
interface Rendered {
  readonly instance_groups: readonly { readonly name: string; readonly jobs: readonly Job[] }[];
  readonly addons: readonly { readonly name: string; readonly jobs: readonly Job[] }[];
}

interface Operation {
  readonly type: string;
  readonly path: string;
  readonly value?: unknown;
  readonly error?: string;
}

/** Returns the variables that our files add to the manifest: bosh generates those without a given value. */
const variablesOf = (names: readonly string[]): readonly { readonly name: string }[] =>
  names
    .filter((name) => own.has(name))
    .flatMap((name) => parse(readFileSync(pathOf(name), 'utf8')) as readonly Operation[])
    .filter(({ path }) => path === '/variables/-')
    .map(({ value }) => value as { readonly name: string });

/** Our files that one of our files needs before it. */
const neededOf = (name: string): readonly string[] => {
  if (name === 'replace-volume-brokers.yml') return ['replace-volume-drivers.yml'];
  if (name === 'after-bosh-lite.yml') return ['system-domain.yml'];
  return name === 'one-cell.yml' ? ['debian-bookworm.yml'] : [];
};
const exclusive = [
  ['garden-containerd.yml', 'garden-runc.yml'],
  ['one-cell.yml', 'several-cells.yml'],
] as const;

describe('manifests/cf-deployment', () => {
  for (const name of own.keys()) {
    const { needs, either, without } = statementOf(name);

    test(`${name} says of each of cf-deployment's files whether and where it goes with it, and it is so`, async () => {
      assert.deepEqual([...needs, ...either, ...without].toSorted(), [...upstreamFiles].toSorted());
      const first = [...needs, ...neededOf(name)];
      const alone = await render([...first, name]);
      assert.notDeepEqual(alone, await render(first));
      for (const other of either) {
        const before = await render([other, ...first, name]);
        const behind = await render([...first, name, other]);
        assert.deepEqual(comparable(before), comparable(behind), other);
      }
      const all = upstreamFiles.filter((other) => either.includes(other) && !needs.includes(other));
      assert.deepEqual(
        comparable(await render([...all, ...first, name])),
        comparable(await render([...first, name, ...all])),
      );
    });

    test(`${name} refuses what it does not go with, a missing file, and to be applied twice`, async () => {
      const first = [...needs, ...neededOf(name)];
      for (const other of without)
        await assertRefused([other, ...needs, name], `${name} does not go with ${other}.yml`);
      for (const missing of neededOf(name))
        await assertRefused([...needs, name], `${name} belongs after ${missing}`);
      // Without upstream's file the drivers' file would already be refused.
      if (neededOf(name).every((file) => statementOf(file).needs.length === 0)) {
        for (const missing of needs) {
          const rest = needs.filter((other) => other !== missing);
          await assertRefused([...rest, ...neededOf(name), name], `${name} belongs after ${missing}.yml`);
        }
      }
      const twice = [...first, name, name];
      const text = readFileSync(pathOf(name), 'utf8').replaceAll('\n# ', ' ');
      if (text.includes('Applied twice it changes nothing more'))
        assert.deepEqual(await render(twice), await render([...first, name]));
      else await assertRefused(twice, `${name} is applied twice`);
    });
  }

  test('of two files for the same choice the second is refused', async () => {
    for (const pair of exclusive) {
      for (const [one, other] of [pair, pair.toReversed()] as const) {
        const text = readFileSync(pathOf(other ?? ''), 'utf8');
        const sentence = new RegExp(`error: (${other} .*${one})$`, 'mu').exec(text)?.[1] ?? 'no sentence';
        await assertRefused([...pair.flatMap(neededOf), one ?? '', other ?? ''], sentence);
      }
    }
  });

  test('our files go together in any order', async () => {
    const excluded = new Set(['garden-runc.yml', 'one-cell.yml', 'after-bosh-lite.yml']);
    const names = [...own.keys()].filter((name) => !excluded.has(name) && !name.startsWith('replace-'));
    assert.ok(names.length > 5);
    assert.deepEqual(comparable(await render(names)), comparable(await render(names.toReversed())));
  });

  for (const layout of layouts) {
    test(`what director init writes for the layout ${layout} applies, and has values of all variables`, async () => {
      const sizes = parse(readFileSync(`${directories[0]}variables/${layout}.yml`, 'utf8')) as object;
      const options = {
        systemDomain: 'cf.example.com',
        ephemeralStorageClass: 'a',
        nodeAddress: '192.0.2.11',
      };
      const cluster = { address: undefined, zones: ['a', 'b', 'c'], classes: [] };
      const given = Object.keys({ ...sizes, ...chooseVariables(layout, options, undefined, cluster) });
      for (const operatingSystem of foundrySystems) {
        for (const hasVolumeServices of [false, true]) {
          const hasOneCell = layout === 'smallest' && operatingSystem === 'debian-bookworm';
          const choice = { layout, operatingSystem, hasVolumeServices, hasOneCell };
          const names = foundryOpsFiles(choice).map(({ path, isOurs }) =>
            isOurs ? basename(path) : path.replace(/\.yml$/u, ''),
          );
          await render(names);
          const generated = variablesOf(names).map(({ name }) => name);
          const files = names
            .filter((name) => own.has(name))
            .map((name) => readFileSync(pathOf(name), 'utf8'));
          const used = new Set(files.join('').match(/(?<=\(\()\w+(?=\)\))/gu) ?? []);
          const missing = [...used].filter((name) => !given.includes(name) && !generated.includes(name));
          assert.deepEqual(missing, [], names.join(' '));
        }
      }
    });
  }

  test('kernel-parameters.yml has every property by which a job writes no kernel parameter', async () => {
    const { instance_groups: groups } = (await render(['kernel-parameters.yml'])) as Rendered;
    const propertiesOf = (group: string, job: string): Record<string, unknown> =>
      groups.find(({ name }) => name === group)?.jobs.find(({ name }) => name === job)?.properties ?? {};
    const tuned = { rep: 'diego-cell', bbs: 'diego-api', locket: 'diego-api', file_server: 'api' };
    for (const [job, group] of Object.entries(tuned))
      assert.equal(propertiesOf(group, job)['set_kernel_parameters'], false, job);
    const { set_kernel_parameters: ofRouter } = propertiesOf('router', 'gorouter')['router'] as JsonObject;
    assert.equal(ofRouter, false);
    // The job writes each value that is neither false nor null, and null means its default.
    const { core_file_pattern: pattern } = propertiesOf('api', 'cloud_controller_ng')['cc'] as JsonObject;
    assert.equal(pattern, false);
  });

  for (const names of [['system-domain.yml'], ['bosh-lite', 'system-domain.yml', 'after-bosh-lite.yml']]) {
    test(`with ${names.join(' ')} each name of the system domain leads to the VMs that serve it`, async () => {
      const { instance_groups: groups, addons } = (await render(names)) as Rendered;
      const [{ properties } = {}] = addons.find(({ name }) => name === 'bosh-dns-aliases')?.jobs ?? [];
      const aliases = properties?.['aliases'] as readonly { domain: string; targets: unknown }[];
      for (const [label, job] of Object.entries({ _: 'gorouter', ssh: 'ssh_proxy', tcp: 'tcp_router' })) {
        const serving = groups.filter(({ jobs }) => jobs.some(({ name }) => name === job));
        const targets = serving.map(({ name }) => ({
          ...{ query: '*', instance_group: name, deployment: 'cf', network: 'default', domain: 'bosh' },
        }));
        assert.equal(targets.length, 1, job);
        const found = aliases.filter(({ domain }) => domain === `${label}.((system_domain))`);
        assert.deepEqual(found, [{ domain: `${label}.((system_domain))`, targets }]);
      }
    });
  }

  test('the keys of the volume ids are generated into the vars store, unless --var-file names files', async () => {
    const variables = variablesOf(['replace-volume-brokers.yml']);
    const names = variables.map(({ name }) => name);
    assert.deepEqual(names, ['nfs_volume_id_key', 'smb_volume_id_key']);
    const path = made('volume-keys', { keys: names.map((name) => `((${name}))`), variables });
    const varsStorePath = join(directory, 'volume-keys-store.yml');
    const keys = async (...files: readonly string[]): Promise<unknown> => {
      if (program !== undefined) {
        const flags = files.flatMap((file, index) => ['--var-file', `${names[index]}=${file}`]);
        const args = ['int', path, '--path', '/keys', '--vars-store', varsStorePath, ...flags];
        return parse((await promisify(execFile)(program, args)).stdout);
      }
      const variableFiles = Object.fromEntries(files.map((file, index) => [names[index] ?? '', file]));
      return parse(await interpolateTemplate({ path, valuePath: '/keys', varsStorePath, variableFiles }));
    };
    const generated = await keys();
    // The errands refuse a key of fewer than 20 characters.
    assert.match(String(generated), /^\w{20,},\w{20,}$/u);
    assert.deepEqual(await keys(), generated);
    const file = join(directory, 'volume-key');
    writeFileSync(file, 'of-the-previous-broker');
    assert.deepEqual(await keys(file, file), ['of-the-previous-broker', 'of-the-previous-broker']);
  });

  test("dns.yml adds the stemcell to bosh-deployment's addon of stemcells with resolvconf, once", async () => {
    const template = made('dns', treeOf(pathsIn(lists, 'dns')));
    const dns = join(directories[0] ?? '', 'dns.yml');
    const { addons } = (await render([dns], template)) as {
      addons: { name: string; include: { stemcell: readonly { os: string }[] } }[];
    };
    const having = addons.filter(({ include }) =>
      include.stemcell.some(({ os }) => os === 'debian-bookworm'),
    );
    assert.deepEqual(
      having.map(({ name }) => name),
      ['bosh-dns'],
    );
    await assertRefused([dns, dns], 'dns.yml is applied twice', template);
  });

  test(
    'the lists have the paths of the checkout',
    { skip: checkout === '' && 'needs a checkout of cf-deployment v58.0.0: CF_DEPLOYMENT=<path>' },
    async () => {
      assert.deepEqual(keptPaths(pathsOf(await render([]))).toSorted(), whole.toSorted());
      for (const name of upstreamFiles) {
        const now = changed(whole, pathsIn(lists, listName(name)));
        assert.deepEqual(keptPaths(pathsOf(await render([name]))).toSorted(), now.toSorted(), name);
      }
    },
  );
});

/**
 * Returns what two orders of files must have in common: without values of upstream's files only the paths.
 */
const comparable = (document: unknown): unknown =>
  checkout === '' ? pathsOf(document).toSorted() : sorted(document);

/** Returns the value with each list in one order: those to which two files append have either. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value))
    return value.map(sorted).toSorted((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, sorted(item)] as const);
  return Object.fromEntries(entries.toSorted(([one], [other]) => (one < other ? -1 : 1)));
}
