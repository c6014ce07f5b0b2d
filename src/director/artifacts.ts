import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { unpackArchive } from '../bosh/archive/unpack-archive.ts';
import { digestOfFile } from '../bosh/digest.ts';
import { readReleaseManifest } from '../bosh/release/release-manifest.ts';
import { parseConfig } from '../cpi/config/config.ts';
import { parseVmProperties, type VmProperties } from '../cpi/vm/properties.ts';
import { Field } from '../platform/field.ts';
import { isObject } from '../platform/json.ts';
import { removeTree } from '../platform/remove-tree.ts';
import type { Target } from './commands-script.ts';
import type { AccessMode } from './director-directory.ts';
import { readDirectorStemcell, type DirectorStemcell } from './director-stemcell.ts';

export interface ArtifactOptions {
  /** The folder of this package. */
  readonly root: string;
  readonly target: Target;
  readonly way: AccessMode;
  readonly hasStaticVolumes: boolean;
  /** VMs keep their first NATS certificate. */
  readonly hasLastingNatsCredentials: boolean;
  /** The stemcell of the director's own VM. */
  readonly stemcell: string;
  /** The stemcell of the VMs that the director creates; undefined: the same. */
  readonly vmStemcell: string | undefined;
  readonly release: string;
}

/** The parts of a director that are on this machine. */
export interface Artifacts {
  /** The texts of the ops files by their paths in the folder, in the order of their use. */
  readonly opsFiles: Readonly<Record<string, string>>;
  /** The properties of the director's VM. */
  readonly directorVm: VmProperties;
  readonly cloudConfig: string;
  /**
   * The node port for each port of the director's VM, for access through a node's port; UAA and CredHub
   * included.
   */
  readonly nodePorts: Readonly<Record<number, number>>;
  /** Values for the variables of cpi.yml and of the deployment. */
  readonly variables: Readonly<Record<string, string>>;
  /** The stemcell of the VMs that the director creates. */
  readonly vmStemcell: DirectorStemcell;
  /** The output folders of `stemcell build` with the stemcells and their images. */
  readonly stemcellDirectories: readonly string[];
}

/**
 * Reads and checks the parts. Rejects with FILE_NOT_FOUND, STEMCELL_INVALID, RELEASE_INVALID or
 * ARCHIVE_INVALID, which name the file.
 */
export async function readArtifacts(request: ArtifactOptions): Promise<Artifacts> {
  const { root, stemcell, release, target } = request;
  const scratch = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-director-'));
  try {
    const own = await readDirectorStemcell(stemcell, scratch);
    const { vmStemcell: path = stemcell } = request;
    const vmStemcell = path === stemcell ? own : await readDirectorStemcell(path, scratch);
    await unpackArchive(release, join(scratch, 'release'), { only: (name) => name === 'release.MF' });
    const { version } = await readReleaseManifest(join(scratch, 'release'));
    const manifests = join(root, 'manifests');
    const names = opsFileNames(request, own.operatingSystem);
    const texts = names.map((name) => readFile(join(manifests, 'bosh-deployment', name), 'utf8'));
    const pairs = (await Promise.all(texts)).map((text, index) => [`ops/${names[index]}`, text] as const);
    const byNode = ['nodeport.yml', 'nodeport-uaa.yml', 'nodeport-credhub.yml'].map((name) =>
      readFile(join(manifests, 'bosh-deployment', name), 'utf8'),
    );
    const directories = [own.directory, vmStemcell.directory].filter((directory) => directory !== undefined);
    const opsFiles = Object.fromEntries(pairs);
    return {
      ...{ opsFiles, directorVm: directorVmIn(opsFiles['ops/cpi.yml'] ?? '') },
      cloudConfig: await readFile(join(manifests, 'cloud-config', `${target}.yml`), 'utf8'),
      nodePorts: nodePortsIn(await Promise.all(byNode)),
      variables: {
        kubernetes_cpi_release_url: `file://${release}`,
        kubernetes_cpi_release_sha1: await digestOfFile(release),
        kubernetes_cpi_release_version: version,
        stemcell_url: `file://${stemcell}`,
        stemcell_sha1: await digestOfFile(stemcell),
        stemcell_os: vmStemcell.operatingSystem,
      },
      vmStemcell,
      stemcellDirectories: [...new Set(directories)],
    };
  } finally {
    await removeTree(scratch, { within: tmpdir() });
  }
}

/** Returns the files of manifests/bosh-deployment in the order of their use. */
export function opsFileNames(
  {
    way,
    hasStaticVolumes,
    hasLastingNatsCredentials,
  }: Pick<ArtifactOptions, 'way' | 'hasStaticVolumes' | 'hasLastingNatsCredentials'>,
  operatingSystem: string,
): string[] {
  return [
    'cpi.yml',
    way === 'direct' ? 'manual-network.yml' : 'dynamic-network.yml',
    ...(way === 'nodeport' || way === 'loadbalancer' ? [`${way}.yml`] : []),
    // the releases of bosh-deployment are compiled for noble
    ...(operatingSystem === 'ubuntu-noble' ? [] : ['debian-stemcell.yml']),
    ...(hasStaticVolumes ? ['static-volumes.yml'] : []),
    'nats-sync.yml',
    ...(hasLastingNatsCredentials ? ['lasting-nats-credentials.yml'] : []),
  ];
}

/** Returns the properties of the director's VM in cpi.yml. Rejects with MANIFEST_INVALID if there are none. */
export function directorVmIn(text: string): VmProperties {
  const found = valuesIn(parse(text)).find((value) => 'cpu' in value && 'memory' in value);
  return parseVmProperties(new Field(found, 'ops/cpi.yml', 'MANIFEST_INVALID'), parseConfig({}, {}));
}

/** Returns the node_port of each port that has one in the ops files. */
export function nodePortsIn(texts: readonly string[]): Record<number, number> {
  const pairs = texts
    .flatMap((text) => valuesIn(parse(text)))
    .flatMap(({ port, node_port: nodePort }) =>
      typeof port === 'number' && typeof nodePort === 'number' ? [[port, nodePort] as const] : [],
    );
  return Object.fromEntries(pairs);
}

/** Returns all mappings in a document, at any depth. */
function valuesIn(node: unknown): Record<string, unknown>[] {
  if (Array.isArray(node)) return node.flatMap(valuesIn);
  if (!isObject(node)) return [];
  return [node, ...Object.values(node).flatMap(valuesIn)];
}
