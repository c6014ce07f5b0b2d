import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseDigests } from '../digest.ts';
import { isProductError } from '../../errors/product-error.ts';
import { parseSecretUrl, secretUrlHelp, isLoopback } from '../parse-secret-url.ts';
import type { YamlField } from '../yaml/yaml-field.ts';
import {
  readInstanceGroup,
  firstPresent,
  readGivenProperties,
  readReleaseName,
} from './read-instance-group.ts';
import { readNetworks } from './read-networks.ts';
import { unsupportedEnvKeys } from './unsupported-env.ts';
import type {
  AgentCertificate,
  ArchiveReference,
  DiskPool,
  Manifest,
  ReleaseReference,
  ResourcePool,
  CloudProvider,
} from './manifest.ts';

/**
 * Checks an interpolated manifest by the rules of create-env (bosh-cli: deployment/manifest/validator.go,
 * installation/manifest/validator.go, release/set/manifest/validator.go). Adds problems to the field's list.
 * Returns undefined if there is no usable instance group or resource pool.
 */
export function readManifest(root: YamlField, path: string): Manifest | undefined {
  const name = root.get('name').requiredText();
  const releases = readReleases(root.get('releases'), path);
  const networks = readNetworks(root.get('networks'));
  const networkNames = names(root.get('networks'));
  if (!root.get('networks').isPresent) root.get('networks').problem('must be a list of at least one network');
  const resourcePools = root
    .get('resource_pools')
    .items()
    .map((field) => readResourcePool(field, networkNames, path));
  const diskPools = root.get('disk_pools').items().map(readDiskPool);
  const groups = root.get('instance_groups').isPresent ? root.get('instance_groups') : root.get('jobs');
  if (root.get('instance_groups').isPresent && root.get('jobs').isPresent) {
    groups.problem("'jobs' is the old name of 'instance_groups'; only one of them is allowed");
  }
  const [group, ...others] = groups.items();
  for (const other of others) other.problem('only one instance group can be deployed');
  if (group === undefined) root.get('instance_groups').problem('must be a list of one instance group');
  const releaseNames = names(root.get('releases'));
  const instanceGroup =
    group &&
    readInstanceGroup(group, {
      ...{ networks, networkNames, resourcePools, diskPools, releaseNames },
      globalProperties: root.get('properties'),
    });
  const resourcePool = resourcePools.find((pool) => pool.name === instanceGroup?.resourcePool);
  const rest = {
    properties: root.get('properties').properties(),
    ...readTags(root.get('tags')),
    updateWatchTime: readWatchTime(root.get('update').get('update_watch_time')),
    cloudProvider: readCloudProvider(root.get('cloud_provider'), releaseNames),
  };
  if (instanceGroup === undefined || resourcePool === undefined) return undefined;
  return { name, releases, networks, instanceGroup, resourcePool, ...rest };
}

function names(list: YamlField): readonly string[] {
  return list.items().flatMap((item) => item.get('name').text() ?? []);
}

function readReleases(field: YamlField, manifestPath: string): readonly ReleaseReference[] {
  const seen = new Set<string>();
  const releases = field.items().map((item) => {
    const name = item.get('name').requiredSegment();
    if (seen.has(name)) item.get('name').problem(`there are two releases '${name}'`);
    seen.add(name);
    return { name, at: item.get('name').position, ...readArchive(item, manifestPath) };
  });
  if (releases.length === 0) field.problem('must be a list of at least one release');
  return releases;
}

function readResourcePool(field: YamlField, networks: readonly string[], manifestPath: string): ResourcePool {
  const network = field.get('network').requiredText();
  const env = field.get('env').properties();
  if (network !== '' && !networks.includes(network))
    field.get('network').problem(`there is no network '${network}'`);
  const agentCertificate = readAgentCertificate(field.get('env').get('bosh').get('mbus').get('cert'));
  return {
    name: field.get('name').requiredText(),
    stemcell: readArchive(field.get('stemcell'), manifestPath),
    cloudProperties: field.get('cloud_properties').properties(),
    env,
    unusedEnv: unsupportedEnvKeys(env).map(({ key, reason }) => {
      const unused = key.split('.').reduce((outer, name) => outer.get(name), field.get('env'));
      return `${unused.position} ${reason}`;
    }),
    ...(agentCertificate === undefined ? {} : { agentCertificate }),
  };
}

/** Adds no problem: the env is for the agent, and the bosh CLI does not check it either. */
function readAgentCertificate(field: YamlField): AgentCertificate | undefined {
  const certificate = field.get('certificate');
  if (certificate.node?.kind !== 'scalar' || !field.get('private_key').isPresent) return undefined;
  const { value, source } = certificate.node;
  return typeof value === 'string' ? { pem: value, at: certificate.position, source } : undefined;
}

function readDiskPool(field: YamlField): DiskPool {
  const diskSize = field.get('disk_size').integer();
  if (diskSize === undefined || diskSize <= 0)
    field.get('disk_size').problem('must be a number of MiB above 0');
  return {
    name: field.get('name').requiredText(),
    diskSize: diskSize ?? 0,
    cloudProperties: field.get('cloud_properties').properties(),
  };
}

/** Reads `url` and `sha1` of a release or stemcell. */
function readArchive(field: YamlField, manifestPath: string): ArchiveReference {
  const url = field.get('url').requiredText();
  const sha1 = field.get('sha1');
  const digest = sha1.text();
  if (digest !== undefined) checkDigest(sha1, digest);
  const known = digest === undefined || digest === '' ? {} : { digest };
  if (/^https?:\/\//.test(url)) {
    if (digest === undefined || digest === '') sha1.problem('must be provided for an http URL');
    if (parseSecretUrl(url) === undefined) field.get('url').problem(secretUrlHelp);
    return { url, location: { kind: 'http', url }, ...known };
  }
  if (url !== '' && !url.startsWith('file://')) {
    field.get('url').problem('must begin with file://, http:// or https://');
  }
  return {
    url,
    location: { kind: 'file', path: filePath(url.slice('file://'.length), manifestPath) },
    ...known,
  };
}

function filePath(path: string, manifestPath: string): string {
  if (path === '~' || path.startsWith('~/')) return join(homedir(), path.slice(1));
  return resolve(dirname(manifestPath), path);
}

function checkDigest(field: YamlField, digest: string): void {
  if (digest === '') return;
  try {
    parseDigests(digest);
  } catch (error) {
    if (!isProductError(error)) throw error;
    field.problem(error.message);
  }
}

function readTags(field: YamlField): Pick<Manifest, 'tags' | 'tagPositions'> {
  const entries = field.entries();
  return {
    tags: Object.fromEntries(entries.map(([name, value]) => [name, value.text() ?? ''])),
    tagPositions: Object.fromEntries(entries.map(([name, value]) => [name, value.position])),
  };
}

/** Reads `min-max` in milliseconds (bosh-cli: deployment/manifest/watch_time.go). */
function readWatchTime(field: YamlField): { readonly start: number; readonly end: number } {
  const text = field.text();
  if (text === undefined) return { start: 0, end: 300_000 };
  const match = /^\s*(\d+)\s*-\s*(\d+)\s*$/.exec(text);
  const [start, end] = [Number(match?.[1]), Number(match?.[2])];
  if (match === null) field.problem(`'${text}' is not a range of milliseconds like 1000-300000`);
  else if (end < start) field.problem(`the end of '${text}' is before its start`);
  return { start, end };
}

/**
 * Reads `cloud_provider` (bosh-cli: installation/manifest/{parser,validator}.go). Ignores `ssh_tunnel`,
 * because the tunnel is never opened.
 */
export function readCloudProvider(field: YamlField, releases: readonly string[]): CloudProvider {
  if (!field.isPresent) field.problem('must be provided');
  const ca = readCa(field.get('cert').get('ca'));
  return {
    at: field.position,
    propertiesPosition: firstPresent(field.get('properties'), field).position,
    templates: field.isPresent ? readTemplates(field, releases) : [],
    mbusAt: field.get('mbus').position,
    mbus: field.isPresent ? readMbus(field.get('mbus')) : '',
    ...(ca === undefined ? {} : { ca }),
    properties: field.get('properties').properties(),
    givenProperties: readGivenProperties(field.get('properties')),
  };
}

function readTemplates(field: YamlField, releases: readonly string[]): CloudProvider['templates'] {
  const several = field.get('templates').items();
  const seen = new Set<string>();
  return (several.length > 0 ? several : [field.get('template')]).map((template) => {
    const name = template.get('name').requiredSegment();
    if (seen.has(name)) template.get('name').problem(`the template '${name}' is listed twice`);
    seen.add(name);
    return {
      name,
      release: readReleaseName(template.get('release'), releases),
      at: template.get('name').position,
    };
  });
}

/**
 * Reads the mbus URL. Its text is a secret and is never shown. Requires TLS for other machines: otherwise
 * anyone on the network path could read it and control the VM.
 */
function readMbus(field: YamlField): string {
  const mbus = field.requiredText();
  if (mbus === '') return mbus;
  const { url } = parseSecretUrl(mbus) ?? {};
  if (url === undefined) field.problem(secretUrlHelp);
  else if (url.protocol === 'http:' && !isLoopback(url))
    field.problem('must be https: http would send user and password in clear text');
  else if (url.protocol !== 'https:' && url.protocol !== 'http:')
    field.problem('must be a URL like https://user:password@10.0.0.6:6868');
  return mbus;
}

function readCa(field: YamlField): string | undefined {
  const ca = field.text();
  if (ca === undefined || ca === '') return undefined;
  if (!/-----BEGIN CERTIFICATE-----[\s\S]+-----END CERTIFICATE-----/.test(ca))
    field.problem('is not a certificate in PEM');
  return ca;
}
