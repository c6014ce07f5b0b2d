import { duplicate, invalidValue, notDoneHere, required, unsupportedValue } from '../errors/field-causes.ts';
import type { Cause } from '../errors/field-causes.ts';
import type { Draft } from '../kinds/kind.ts';
import { checkName } from '../kinds/names.ts';
import { repeatedPlaces } from '../kinds/repeated-places.ts';
import { isRecord } from '../schema/json.ts';
import type { JsonRecord } from '../schema/json.ts';
import { checkStructuralSchema } from './check-structural-schema.ts';
import { parseJsonPath } from './json-path.ts';
import { columnTypes } from './printer-columns.ts';

const approval = 'api-approved.kubernetes.io';
const record = (value: unknown): JsonRecord => (isRecord(value) ? value : {});
const records = (value: unknown): JsonRecord[] => (Array.isArray(value) ? value.filter(isRecord) : []);
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/**
 * Causes for a CustomResourceDefinition (apiextensions pkg/apis/apiextensions/validation). Of conversion only `None`
 * is done. `reserved`: the groups of the built-in kinds.
 */
export function checkDefinition(draft: Draft, reserved: readonly string[]): Cause[] {
  const spec = record(draft['spec']);
  const group = textOf(spec['group']);
  const names = record(spec['names']);
  return [
    ...checkGroup(draft, group, reserved),
    ...(['Namespaced', 'Cluster'].includes(textOf(spec['scope']))
      ? []
      : [unsupportedValue('spec.scope', spec['scope'] ?? '', ['Cluster', 'Namespaced'])]),
    ...checkNames(names),
    ...(draft.metadata.name === `${textOf(names['plural'])}.${group}`
      ? []
      : [invalidValue('metadata.name', draft.metadata.name, 'must be spec.names.plural+"."+spec.group')]),
    ...(textOf(record(spec['conversion'])['strategy']) === 'None'
      ? []
      : [notDoneHere('spec.conversion.strategy', 'conversion other than None')]),
    ...checkVersions(records(spec['versions'])),
  ];
}

function checkGroup(draft: Draft, group: string, reserved: readonly string[]): Cause[] {
  if (group === '') return [required('spec.group')];
  const isProtected = /(^|\.)(k8s|kubernetes)\.io$/.test(group);
  return [
    ...checkName('spec.group', group, 'subdomain'),
    ...(group.includes('.')
      ? []
      : [invalidValue('spec.group', group, 'should be a domain with at least one dot')]),
    ...(reserved.includes(group) ? [notDoneHere('spec.group', `definitions in its own group ${group}`)] : []),
    ...(isProtected && draft.metadata.annotations?.[approval] === undefined
      ? [
          required(
            `metadata.annotations[${approval}]`,
            `protected groups must have approval annotation "${approval}"`,
          ),
        ]
      : []),
  ];
}

function checkNames(names: JsonRecord): Cause[] {
  const label = (key: string, value: string): Cause[] =>
    value === ''
      ? [required(`spec.names.${key}`)]
      : checkName(`spec.names.${key}`, value.toLowerCase(), 'label');
  const lists = ['shortNames', 'categories'].flatMap((key) =>
    ((names[key] as string[] | undefined) ?? []).flatMap((value, index) =>
      checkName(`spec.names.${key}[${index}]`, value, 'label'),
    ),
  );
  return [
    ...['plural', 'singular', 'kind', 'listKind'].flatMap((key) => label(key, textOf(names[key]))),
    ...(['plural', 'singular'] as const)
      .filter((key) => textOf(names[key]) !== textOf(names[key]).toLowerCase())
      .map((key) => invalidValue(`spec.names.${key}`, names[key], 'must be lower case')),
    ...(names['kind'] === names['listKind']
      ? [invalidValue('spec.names.listKind', names['listKind'], 'kind and listKind may not be the same')]
      : []),
    ...lists,
  ];
}

function checkVersions(versions: readonly JsonRecord[]): Cause[] {
  const at = 'spec.versions';
  const stored = versions.filter(({ storage }) => storage === true);
  const names = versions.map(({ name }) => textOf(name));
  const repeated = repeatedPlaces(names);
  return [
    ...(versions.length === 0 ? [required(at, 'must have at least one version')] : []),
    ...(stored.length === 1 || versions.length === 0
      ? []
      : [invalidValue(at, names, 'must have exactly one version marked as storage version')]),
    ...names.flatMap((name, index) => [
      ...(name === ''
        ? [required(`${at}[${index}].name`)]
        : checkName(`${at}[${index}].name`, name, 'label')),
      ...(repeated.has(index) ? [duplicate(`${at}[${index}].name`, name)] : []),
    ]),
    ...versions.flatMap((version, index) => checkVersion(`${at}[${index}]`, version)),
  ];
}

function checkVersion(at: string, version: JsonRecord): Cause[] {
  return [
    ...checkStructuralSchema(`${at}.schema.openAPIV3Schema`, record(version['schema'])['openAPIV3Schema']),
    ...records(version['additionalPrinterColumns']).flatMap((column, index) =>
      checkColumn(`${at}.additionalPrinterColumns[${index}]`, column),
    ),
  ];
}

function checkColumn(at: string, column: JsonRecord): Cause[] {
  const path = textOf(column['jsonPath']);
  return [
    ...(textOf(column['name']) === '' ? [required(`${at}.name`)] : []),
    ...(columnTypes.some((type) => type === column['type'])
      ? []
      : [unsupportedValue(`${at}.type`, column['type'] ?? '', columnTypes)]),
    ...(path === '' ? [required(`${at}.jsonPath`)] : []),
    ...(parseJsonPath(path) === undefined
      ? [invalidValue(`${at}.jsonPath`, path, 'is not a JSON path that the embedded cluster can follow')]
      : []),
  ];
}
