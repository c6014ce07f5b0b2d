import assert from 'node:assert/strict';
import { test } from 'node:test';
import { goMod, stagingModules } from './build-programs.ts';
import { programCache, parseProgramNames } from './programs.ts';

test('programs are named with commas; one that there is not is named with those that there are', () => {
  assert.deepEqual(parseProgramNames('kubectl,e2e.test'), ['kubectl', 'e2e.test']);
  assert.ok(parseProgramNames('cluster').includes('kubelet'));
  assert.throws(
    () => parseProgramNames('kubectl,kubeadm'),
    /no program "kubeadm": kube-apiserver, .*agnhost/,
  );
  assert.throws(() => parseProgramNames('toString'), /no program "toString"/);
});

test('the cache is in XDG_CACHE_HOME, or below HOME if that is not an absolute path', () => {
  const below = (environment: NodeJS.ProcessEnv): string => programCache(environment).replace(/[^/]+$/, '');
  assert.equal(below({ XDG_CACHE_HOME: '/c', HOME: '/h' }), '/c/bosh-kubernetes/programs/');
  assert.equal(below({ XDG_CACHE_HOME: 'c', HOME: '/h' }), '/h/.cache/bosh-kubernetes/programs/');
});

test('staging modules are those that Kubernetes replaces with folders, and get their own version', () => {
  const upstream = [
    'replace (',
    '\tk8s.io/api => ./staging/src/k8s.io/api',
    '\tk8s.io/client-go => ./staging/src/k8s.io/client-go',
    '\texample.com/other => example.com/fork v1.0.0',
    ')',
  ].join('\n');
  const staging = stagingModules(upstream);
  assert.deepEqual(staging, ['k8s.io/api', 'k8s.io/client-go']);
  const text = goMod(['k8s.io/kubernetes@v1.2.3'], staging);
  assert.match(text, /^require k8s.io\/kubernetes v1.2.3$/m);
  assert.match(text, /^replace k8s.io\/api => k8s.io\/api v0\.\d+\.\d+$/m);
});
