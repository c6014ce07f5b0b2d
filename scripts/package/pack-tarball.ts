import { globSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compareBytes, packArchive, type ArchiveEntry } from '../../src/bosh/archive/pack-archive.ts';
import { buildAgent } from '../build-agent.ts';
import { packagesOf } from '../bundle-for-node.ts';
import { runtimes, writeNotices } from '../write-notices.ts';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** Files of the repository that the tarball contains, at the same paths. */
const sources = [
  '{LICENSE,README.md,CHANGELOG.md,CONTRIBUTING.md,SECURITY.md}',
  'bin/run-main.mjs',
  'scripts/fail.mjs',
  '{docs,manifests}/**',
  'examples/**/*.{yml,md}',
  'examples/*/ops/**',
  '{bench,embedded-cluster,test}/**/README.md',
  'release/{config,jobs,packages,volumes}/**',
  // What the bundles read beside their sources (scripts/beside-sources.ts).
  'embedded-cluster/daemon/*.sh',
  'src/bosh/template/*.{rb,sh}',
  'src/stemcell/**/*.sh',
  'src/stemcell/root/**',
];

/** What scripts/build.ts makes, except the folders from which it packs releases, and Node, which is a dependency. */
const built = [
  'dist/{cli,cluster,ruby,volumes}/*',
  'dist/runtime/agent.cjs',
  'dist/*.tgz',
];

/** The sources of all bundles, whose packages NOTICE names. */
const programs = [
  'src/cli/main.ts',
  'embedded-cluster/main.ts',
  'embedded-cluster/node/prepare-host-main.ts',
  'src/agent/main.ts',
  'src/cpi/main.ts',
  'src/bosh/template/ruby-wasm.ts',
  'src/volumes/broker/main.ts',
  'src/volumes/driver/main.ts',
  'src/volumes/k8s-binding/cli.ts',
  'src/volumes/cell/cli.ts',
  'src/volumes/demo/cli.ts',
];
