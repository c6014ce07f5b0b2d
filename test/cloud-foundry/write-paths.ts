import { join } from 'node:path';
import { parse } from 'yaml';
import { interpolateTemplate } from '../../src/bosh/manifest/interpolate-template.ts';
import { pathsOf } from '../director/manifest-paths.ts';
import { changesBetween, writePaths } from '../director/path-lists.ts';
import { keptPaths, listName, upstreamFiles } from './upstream.ts';

/**
 * Writes `paths/cf-deployment.txt`, the paths of cf-deployment's manifest, for each of its ops files the
 * paths that it adds (+) and removes (-), and `paths/dns.txt`, the paths of bosh-deployment's
 * runtime-configs/dns.yml. It copies no values. Run it by hand if upstream's paths have changed:
 * node test/cloud-foundry/write-paths.ts CF-DEPLOYMENT BOSH-DEPLOYMENT
 */
const [cfDeployment = '', boshDeployment = ''] = process.argv.slice(2);
const folder = new URL('paths/', import.meta.url);
const read = async (path: string, ...opsFiles: readonly string[]): Promise<string[]> =>
  keptPaths(pathsOf(parse(await interpolateTemplate({ path, opsFiles }))));

const manifest = join(cfDeployment, 'cf-deployment.yml');
const whole = await read(manifest);
await writePaths(folder, 'cf-deployment', whole);
for (const file of upstreamFiles) {
  const now = await read(manifest, join(cfDeployment, 'operations', `${file}.yml`));
  await writePaths(folder, listName(file), changesBetween(whole, now));
}
await writePaths(folder, 'dns', await read(join(boshDeployment, 'runtime-configs', 'dns.yml')));
