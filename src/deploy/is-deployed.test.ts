import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeployed } from './is-deployed.ts';
import { emptyState, type DeploymentState } from './state/deployment-state.ts';

const deployed: DeploymentState = {
  ...emptyState,
  current_manifest_sha: 'sha',
  current_stemcell_id: 's',
  stemcells: [{ id: 's', name: 'stemcell', version: '1', cid: 'c' }],
  releases: [{ id: 'r', name: 'release', version: '1' }],
};
const image = (name: string): DeploymentState => ({
  ...deployed,
  stemcells: deployed.stemcells.map((record) => ({ ...record, image: name })),
});
const target = {
  manifestSha: 'sha',
  stemcell: {
    name: 'stemcell',
    version: '1',
    cloudProperties: { image_reference: 'r.example/a:1', digest: 'sha256:1' },
  },
  releases: [{ name: 'release', version: '1' }],
};

test('the same manifest, stemcell and releases count as deployed', () => {
  assert.equal(isDeployed(deployed, target), true);
  assert.equal(isDeployed(image('r.example/a@sha256:1'), target), true);
});

test('any difference, or a failed deploy, does not count as deployed', () => {
  const differences: [DeploymentState, typeof target][] = [
    [deployed, { ...target, manifestSha: 'other' }],
    [deployed, { ...target, stemcell: { ...target.stemcell, version: '2' } }],
    [deployed, { ...target, releases: [{ name: 'release', version: '2' }] }],
    [deployed, { ...target, releases: [...target.releases, { name: 'more', version: '1' }] }],
    [deployed, { ...target, releases: [] }],
    [image('other.example/a@sha256:1'), target],
    [image('r.example/a@sha256:2'), target],
    [{ ...deployed, current_manifest_sha: '' }, target],
    [{ ...deployed, current_stemcell_id: '' }, target],
    [
      { ...deployed, releases: [] },
      { ...target, releases: [] },
    ],
  ];
  for (const [state, requested] of differences) assert.equal(isDeployed(state, requested), false);
});
