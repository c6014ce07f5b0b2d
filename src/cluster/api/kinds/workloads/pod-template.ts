import type { PodTemplateSpec } from '../../../../kubernetes/workload.ts';
import { invalidValue, required, unsupportedValue } from '../../errors/field-causes.ts';
import type { Cause } from '../../errors/field-causes.ts';
import { fields, kindSchema, objectMeta } from '../../schema/schema.ts';
import { at } from '../columns.ts';
import type { Draft } from '../kind.ts';
import { checkAnnotations, checkLabels } from '../names.ts';
import { fillPodDefaults } from '../pod/pod-defaults.ts';
import { podSchema } from '../pod/pod-schema.ts';
import { validatePod } from '../pod/pod-validation.ts';

const { spec = fields({}) } = podSchema.fields;

/** v1.PodTemplateSpec: what a pod here may have, and no more. */
export const podTemplate = fields({ metadata: objectMeta, spec });

export const podTemplateKindSchema = kindSchema({ template: podTemplate });

/** The pod that a template stands for, as validation and defaults of pods want it. */
function podOf(template: PodTemplateSpec): Draft {
  return {
    ...(template as unknown as Record<string, unknown>),
    metadata: { name: '', uid: '', resourceVersion: '' },
  };
}

export function templateOf(draft: Draft, ...path: readonly string[]): PodTemplateSpec | undefined {
  return at(draft, ...path) as PodTemplateSpec | undefined;
}

/** Defaults of the pods. */
export function fillTemplateDefaults(template: PodTemplateSpec | undefined): void {
  if (template === undefined) return;
  template.spec ??= { containers: [] };
  fillPodDefaults(podOf(template));
}

/** Causes for a template (pkg/apis/core/validation ValidatePodTemplateSpec), with the paths that it has in its object. */
export function checkTemplate(field: string, template: PodTemplateSpec | undefined): Cause[] {
  if (template === undefined) return [required(field)];
  return [
    ...checkLabels(`${field}.labels`, template.metadata?.labels),
    ...checkAnnotations(`${field}.annotations`, template.metadata?.annotations),
    ...validatePod(podOf(template)).map((cause) => ({ ...cause, field: `${field}.${cause.field}` })),
  ];
}

/** The same for a template whose pods a controller keeps alive, selected by their labels. */
export function checkKeptTemplate(
  field: string,
  template: PodTemplateSpec | undefined,
  selects: (labels: Readonly<Record<string, string>>) => boolean,
): Cause[] {
  const policy = template?.spec.restartPolicy;
  const labels = template?.metadata?.labels ?? {};
  return [
    ...checkTemplate(field, template),
    ...(template === undefined || selects(labels)
      ? []
      : [invalidValue(`${field}.metadata.labels`, labels, '`selector` does not match template `labels`')]),
    ...(policy === undefined || policy === 'Always'
      ? []
      : [unsupportedValue(`${field}.spec.restartPolicy`, policy, ['Always'])]),
  ];
}
