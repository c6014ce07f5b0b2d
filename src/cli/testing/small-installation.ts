import { access, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { ObjectStore } from '../../../embedded-cluster/api-server/store/object-store.ts';
import { journalPath } from '../../../embedded-cluster/api-server/store/read-stored-objects.ts';
import { objectAnnotations, objectLabels } from '../../bosh/object-labels.ts';
import { type DeploymentState, emptyState } from '../../deploy/state/deployment-state.ts';

/** An installation for `destroy` without a running cluster: one file for each thing that it removes. */
export interface SmallInstallation {
  readonly home: string;
  readonly manifestPath: string;
  /** Files of the cluster, of the workspace and beside the manifest. */
  readonly files: readonly string[];
  /** Returns those of `files` that still exist. */
  leftovers(): Promise<string[]>;
}

export async function smallInstallation(t: TestContext): Promise<SmallInstallation> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'bosh-kubernetes-cli-')));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const home = join(directory, 'home');
  const files = [
    join(home, 'cluster', 'volumes', 'disk'),
    join(home, 'workspace', 'installation', 'cpi'),
    ...[
      '-state.json',
      ...['.pending', '.cluster', '.cpi', '.digest', '.trace'].map((end) => `-state.json${end}`),
      '-creds.yml',
    ].map((end) => join(directory, `manifest${end}`)),
  ];
  await mkdir(join(home, 'cluster', 'volumes'), { recursive: true });
  await mkdir(join(home, 'workspace', 'installation'), { recursive: true });
  for (const path of files.filter((file) => !file.endsWith('.cluster'))) await writeFile(path, 'x');
  await ObjectStore.open({ file: journalPath(join(home, 'cluster')) }).close();
  const manifestPath = join(directory, 'manifest.yml');
  await writeFile(manifestPath, 'x');
  const statePath = join(directory, 'manifest-state.json');
  await writeFile(statePath, JSON.stringify({ ...emptyState, installation_id: 'one' }));
  await writeFile(`${statePath}.pending`, '{"disks":[]}');
  const leftovers = async (): Promise<string[]> => {
    const there = await Promise.all(
      files.map((path) =>
        access(path).then(
          () => true,
          () => false,
        ),
      ),
    );
    return files.filter((_, index) => there[index]);
  };
  return { home, manifestPath, files, leftovers };
}

export interface StoredResource {
  readonly resource: string;
  readonly cid: string;
  readonly kind?: string;
  readonly director?: string;
  readonly deployment?: string;
  /** The default is the cid. */
  readonly uid?: string;
}

/** Adds objects to the stopped cluster of `home`, as the CPI creates them. */
export async function addObjects(home: string, objects: readonly StoredResource[]): Promise<void> {
  const store = ObjectStore.open({ file: journalPath(join(home, 'cluster')) });
  for (const { resource, cid, kind, director, deployment, uid = cid } of objects) {
    const metadata = JSON.stringify({ deployment, job: 'web', index: 0 });
    store.put(resource, {
      metadata: {
        ...{ namespace: 'bosh', name: cid, uid, resourceVersion: '' },
        labels: {
          ...(kind !== undefined && { [objectLabels.kind]: kind }),
          ...(director !== undefined && { [objectLabels.directorId]: director }),
        },
        annotations: deployment === undefined ? {} : { [objectAnnotations.metadata]: metadata },
      },
      spec: { containers: [], resources: {} },
    });
  }
  await store.close();
}

/** Writes a state file with these values. */
export const recordDeployment = (
  { manifestPath }: Pick<SmallInstallation, 'manifestPath'>,
  state: Partial<DeploymentState>,
): Promise<void> =>
  writeFile(
    manifestPath.replace(/\.yml$/, '-state.json'),
    JSON.stringify({ ...emptyState, installation_id: 'one', ...state }),
  );
