import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { isApiError } from '../../src/kubernetes/api-error.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import { customResourceDefinitions } from '../../src/kubernetes/resources.ts';
import { until } from '../support/until.ts';
import {
  define,
  definedResource,
  definitionOf,
  group,
  hasCondition,
  referenceTo,
} from './contract-definitions.ts';
import type { Definition } from './contract-definitions.ts';
import type { Subject } from './subject.ts';

interface Widget extends KubernetesObject {
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
}

const widgets = definedResource('widgets');
const widgetDefinition = definitionOf(
  'Widget',
  {
    type: 'object',
    required: ['spec'],
    properties: {
      spec: {
        type: 'object',
        required: ['size'],
        'x-kubernetes-validations': [
          { rule: '!has(self.fixed) || self.size > 1', message: 'fixed needs a size above 1' },
        ],
        properties: {
          size: { type: 'integer', minimum: 1, maximum: 10 },
          color: { type: 'string', enum: ['red', 'blue'], default: 'red' },
          tags: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
          source: {
            type: 'object',
            properties: { claim: { type: 'string' }, content: { type: 'string' } },
            oneOf: [{ required: ['claim'] }, { required: ['content'] }],
          },
          fixed: {
            type: 'string',
            'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'fixed is immutable' }],
          },
          free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        },
      },
      status: { type: 'object', properties: { ready: { type: 'boolean' } } },
    },
  },
  { subresources: { status: {} } },
);

async function unlessGone(done: Promise<unknown>): Promise<void> {
  try {
    await done;
  } catch (error) {
    if (!isApiError(error, 404)) throw error;
  }
}

/**
 * CustomResourceDefinitions and their objects (kubernetes.io: Extend the Kubernetes API with CustomResourceDefinitions;
 * apiextensions pkg/apiserver/customresource_handler.go).
 */
export function definitionContract(makeSubject: () => Promise<Subject>): void {
  let subject: Subject;
  const limit = { timeout: 30_000 };
  before(async () => {
    subject = await makeSubject();
    await define(subject.api, widgetDefinition);
  });
  after(async () => {
    await subject.api.delete(referenceTo(widgetDefinition));
    await subject.end();
  });

  const widget = (name: string, spec: object): Widget => ({
    apiVersion: `${group}/v1`,
    kind: 'Widget',
    metadata: { namespace: subject.namespace, name },
    spec: { ...spec },
  });
  const at = (name: string): { resource: typeof widgets; namespace: string; name: string } => ({
    resource: widgets,
    namespace: subject.namespace,
    name,
  });
  const refusal = async (name: string, spec: object): Promise<(string | undefined)[]> => {
    const error: unknown = await subject.api
      .create(widgets, widget(name, spec))
      .catch((caught: unknown) => caught);
    assert(isApiError(error, 422, 'Invalid'), String(error));
    return (error.status.details?.causes ?? []).map(({ field, reason }) => `${field} ${reason}`);
  };

  test('a definition gets its names, conditions and stored versions', limit, async () => {
    const stored = await subject.api.get<Definition>(referenceTo(widgetDefinition));
    assert(hasCondition(stored, 'NamesAccepted') && hasCondition(stored, 'Established'));
    assert.partialDeepStrictEqual(stored.spec, {
      names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
      conversion: { strategy: 'None' },
    });
    assert.partialDeepStrictEqual(stored.status, { storedVersions: ['v1'] });
    assert.equal(stored.metadata.finalizers, undefined);
  });

  test('objects are created with defaults, listed, watched and deleted', limit, async () => {
    const { api, namespace } = subject;
    const made = await api.create(widgets, widget('first', { size: 3 }));
    assert.deepEqual(made.spec, { size: 3, color: 'red' });
    assert.equal(made.metadata.generation, 1);
    const list = await api.list(widgets, { namespace });
    assert.equal(list.kind, 'WidgetList');
    assert.equal(list.apiVersion, `${group}/v1`);
    assert.deepEqual(
      list.items.map(({ metadata }) => metadata.name),
      ['first'],
    );
    await api.delete(at('first'));
    const ending = new AbortController();
    const seen: string[] = [];
    const { resourceVersion } = made.metadata;
    for await (const event of api.watch(widgets, { namespace, resourceVersion, signal: ending.signal })) {
      if (event.type === 'BOOKMARK') continue;
      seen.push(event.type);
      ending.abort();
    }
    assert.deepEqual(seen, ['DELETED']);
    await assert.rejects(
      api.get(at('first')),
      (error) => isApiError(error, 404) && error.message === `widgets.${group} "first" not found`,
    );
  });

  test(
    'the schema is held: types, bounds, enums, required members, sets, one of several',
    limit,
    async () => {
      // where a cause is blocking, rules are not evaluated, which is a cause of its own
      const unchecked = '<nil> FieldValueInvalid';
      assert.deepEqual(await refusal('bad', { size: 'x' }), ['spec.size FieldValueTypeInvalid', unchecked]);
      assert.deepEqual(await refusal('bad', { size: 11 }), ['spec.size FieldValueInvalid']);
      assert.deepEqual(await refusal('bad', {}), ['spec.size FieldValueRequired', unchecked]);
      assert.deepEqual(await refusal('bad', { size: 1, color: 'green' }), [
        'spec.color FieldValueNotSupported',
        unchecked,
      ]);
      assert.deepEqual(await refusal('bad', { size: 1, tags: ['a', 'a'] }), [
        'spec.tags[1] FieldValueDuplicate',
      ]);
      assert.deepEqual(await refusal('bad', { size: 1, source: {} }), [
        '<nil> FieldValueInvalid',
        'spec.source.claim FieldValueRequired',
        unchecked,
      ]);
      assert.deepEqual(await refusal('bad', { size: 1, source: { claim: 'a', content: 'b' } }), [
        '<nil> FieldValueInvalid',
      ]);
    },
  );

  test('rules are held: between members, and with the former value', limit, async () => {
    const { api } = subject;
    assert.deepEqual(await refusal('bad', { size: 1, fixed: 'a' }), ['spec FieldValueInvalid']);
    await api.create(widgets, widget('ruled', { size: 2, fixed: 'a' }));
    const message = /spec\.fixed: Invalid value: "(string|b)": fixed is immutable/;
    await assert.rejects(
      api.patch(at('ruled'), { spec: { fixed: 'b' } }),
      (error) => isApiError(error, 422) && message.test(error.message),
    );
    await api.patch(at('ruled'), { spec: { fixed: 'a', size: 3 } });
  });

  test(
    'an unknown field is refused, except where the schema keeps what it does not know',
    limit,
    async () => {
      const { api } = subject;
      await assert.rejects(
        api.create(widgets, widget('unknown', { size: 1, nonsense: 1 })),
        (error) => isApiError(error, 400) && error.message.includes('unknown field "spec.nonsense"'),
      );
      const made = await api.create(widgets, widget('free', { size: 1, free: { any: { thing: [1] } } }));
      assert.deepEqual(made.spec?.['free'], { any: { thing: [1] } });
    },
  );

  test('status is written by /status alone, and counts no generation', limit, async () => {
    const { api } = subject;
    const made = await api.create(widgets, { ...widget('halves', { size: 1 }), status: { ready: true } });
    assert.equal(made.status, undefined);
    const main = await api.patch<Widget>(at('halves'), { spec: { size: 2 }, status: { ready: true } });
    assert.deepEqual([main.status, main.metadata.generation], [undefined, 2]);
    const change = { metadata: { labels: { a: 'b' } }, spec: { size: 5 }, status: { ready: true } };
    const status = await api.patch<Widget>(at('halves'), change, { subresource: 'status' });
    assert.deepEqual(
      [status.status, status.spec?.['size'], status.metadata.generation],
      [{ ready: true }, 2, 2],
    );
    assert.equal(status.metadata.labels, undefined);
  });

  test('a replace needs a resourceVersion', limit, async () => {
    const { api } = subject;
    const made = await api.create(widgets, widget('versioned', { size: 1 }));
    await assert.rejects(
      api.replace(widgets, widget('versioned', { size: 2 })),
      (error) => isApiError(error, 422) && error.message.includes('metadata.resourceVersion: Invalid value'),
    );
    const again = await api.replace(widgets, { ...made, spec: { size: 2 } });
    assert.equal(again.spec?.['size'], 2);
  });

  test('a definition that is not structural is 422, and group, scope and kind stay', limit, async () => {
    const { api } = subject;
    const untyped = definitionOf('Gadget', { type: 'object', properties: { spec: { properties: {} } } });
    await assert.rejects(
      api.create(customResourceDefinitions, untyped),
      (error) =>
        isApiError(error, 422) &&
        error.message.includes('openAPIV3Schema.properties[spec].type: Required value'),
    );
    const misnamed = definitionOf('Gadget', { type: 'object' });
    misnamed.metadata.name = `other.${group}`;
    await assert.rejects(
      api.create(customResourceDefinitions, misnamed),
      (error) => isApiError(error, 422) && error.message.includes('must be spec.names.plural+"."+spec.group'),
    );
    await assert.rejects(
      api.patch(referenceTo(widgetDefinition), { spec: { scope: 'Cluster' } }),
      (error) => isApiError(error, 422) && error.message.includes('field is immutable'),
    );
  });

  test('with the definition go its objects, and then the kind is 404', limit, async (t) => {
    const { api, namespace } = subject;
    const definition = definitionOf('Passing', { type: 'object' });
    const passings = definedResource('passings');
    await assert.rejects(api.list(passings, { namespace }), (error) => isApiError(error, 404));
    const reference = { resource: passings, namespace, name: 'held' };
    // what a failure would leave is in the way of every later run
    t.after(async () => {
      await unlessGone(api.patch(reference, { metadata: { finalizers: null } }));
      await unlessGone(api.delete(referenceTo(definition)));
    });
    await define(api, definition);
    const finalizers = ['bosh.cloudfoundry.org/contract'];
    const passing = (metadata: object): Widget => ({
      apiVersion: `${group}/v1`,
      kind: 'Passing',
      metadata: { namespace, ...metadata },
    });
    await api.create(passings, passing({ name: 'held', finalizers }));
    await api.create(passings, passing({ name: 'free' }));
    const ending = new AbortController();
    const query = { fieldSelector: `metadata.name=${definition.metadata.name}`, signal: ending.signal };
    await api.delete(referenceTo(definition));
    let released = false;
    for await (const event of api.watch<Definition>(customResourceDefinitions, query)) {
      if (event.type === 'DELETED') ending.abort();
      if (event.type === 'ERROR' || event.type === 'BOOKMARK' || released) continue;
      released = true;
      assert(hasCondition(event.object, 'Terminating'));
      await assert.rejects(api.create(passings, passing({ name: 'late' })), (error) =>
        isApiError(error, 403, 'Forbidden'),
      );
      await api.patch(reference, { metadata: { finalizers: null } });
    }
    // the part of the server that serves the kind learns of the end by a watch of its own
    await until('the kind to be 404', () =>
      api.list(passings, { namespace }).then(
        () => false,
        (error: unknown) => {
          assert.ok(isApiError(error, 404), String(error));
          return true;
        },
      ),
    );
  });
}
