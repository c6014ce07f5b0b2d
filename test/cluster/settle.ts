// Runs where the API server is reachable, with KUBECONFIG and the directory of the CustomResourceDefinitions
// of snapshots: creates the objects that the cluster needs for volumes and waits until the nodes are Ready.
import { readFile } from 'node:fs/promises';
import { loadAccess } from '../../src/kubernetes/access/kubeconfig-access.ts';
import { openApi } from '../../src/kubernetes/client/rest-api.ts';
import { awaitNodes } from './await-nodes.ts';
import { nodePlans } from './network.ts';
import { printingStages } from './stages.ts';
import { createVolumeObjects } from './volumes/create-objects.ts';

const [definitions = ''] = process.argv.slice(2);
const stage = printingStages(console.error);
const api = await openApi(await loadAccess(await readFile(process.env['KUBECONFIG'] ?? '', 'utf8')));
try {
  await stage('classes of volumes', () => createVolumeObjects(api, definitions));
  await stage('nodes Ready', () => awaitNodes(api, nodePlans));
} finally {
  api.close();
}
