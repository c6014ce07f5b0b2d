export const binaryOperators = ['||', '&&', '==', '!=', '<=', '>=', '<', '>', 'in'] as const;
export const methods = ['startsWith', 'endsWith', 'contains', 'matches'] as const;

/** A rule of `x-kubernetes-validations`, parsed: the part of CEL that this server knows. */
export type Expression =
  | { readonly is: 'value'; readonly value: string | number | boolean | null }
  | { readonly is: 'list'; readonly items: readonly Expression[] }
  | { readonly is: 'name'; readonly name: 'self' | 'oldSelf' }
  | { readonly is: 'member'; readonly of: Expression; readonly key: string }
  | { readonly is: 'has' | 'size' | 'not'; readonly of: Expression }
  | {
      readonly is: 'method';
      readonly name: (typeof methods)[number];
      readonly of: Expression;
      readonly argument: Expression;
    }
  | {
      readonly is: 'binary';
      readonly operator: (typeof binaryOperators)[number];
      readonly left: Expression;
      readonly right: Expression;
    };

/** Whether a rule compares with the former value, and so holds for updates alone. */
export function isTransition(expression: Expression): boolean {
  switch (expression.is) {
    case 'value':
      return false;
    case 'list':
      return expression.items.some(isTransition);
    case 'name':
      return expression.name === 'oldSelf';
    case 'member':
    case 'has':
    case 'size':
    case 'not':
      return isTransition(expression.of);
    case 'method':
      return isTransition(expression.of) || isTransition(expression.argument);
    case 'binary':
      return isTransition(expression.left) || isTransition(expression.right);
  }
}
