import { cp, mkdir, readFile, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packRelease } from '../src/bosh/release/pack-release.ts';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

// npm run build:volumes-release [FILE]: packs the volume drivers and broker (release/volumes) together with
// this Node.
const [, , outFile = join(root, 'dist', 'bosh-kubernetes-volumes-release.tgz')] = process.argv;
const staging = join(root, 'dist', 'volumes-release');
await rm(staging, { recursive: true, force: true });
await cp(join(root, 'release', 'volumes'), staging, { recursive: true });
const sources = join(staging, 'src', 'volume_services');
await mkdir(sources, { recursive: true });
for (const bundle of ['driver.mjs', 'broker.mjs'])
  await cp(join(root, 'dist', 'volumes', bundle), join(sources, bundle));
for (const name of ['LICENSE', 'NOTICE']) await cp(join(root, 'dist', 'volumes', name), join(staging, name));
await cp(process.execPath, join(sources, 'node'));
const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
const { name, jobs } = await packRelease({ directory: staging, version, outFile: resolve(outFile) });
await rm(staging, { recursive: true });
console.log(`${outFile}: ${name}/${version}, jobs ${jobs.map((job) => job.name).join(', ')}`);
