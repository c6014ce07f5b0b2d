import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLocalApi } from '../../embedded-cluster/api-server/local-api.ts';
import { describeKubernetesApi } from './kubernetes-api-contract.ts';

describeKubernetesApi('LocalApi', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'bosh-kubernetes-contract-'));
  const api = await openLocalApi({ directory });
  return {
    api,
    namespace: 'bosh',
    end: async () => {
      await api.close();
      rmSync(directory, { recursive: true });
    },
  };
});
