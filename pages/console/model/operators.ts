// Generated from openapi.yaml by `npm run openapi`. Do not edit.

/** The operators of filters, without the `_` in front, for each type of value. */
export const operators = {
  "boolean": [
    "eq",
    "neq",
    "null",
    "nnull"
  ],
  "integer": [
    "eq",
    "neq",
    "lt",
    "lte",
    "gt",
    "gte",
    "between",
    "nbetween",
    "in",
    "nin",
    "null",
    "nnull"
  ],
  "json": [
    "null",
    "nnull"
  ],
  "text": [
    "eq",
    "neq",
    "in",
    "nin",
    "null",
    "nnull",
    "empty",
    "nempty",
    "contains",
    "ncontains",
    "icontains",
    "starts_with",
    "nstarts_with",
    "istarts_with",
    "nistarts_with",
    "ends_with",
    "nends_with",
    "iends_with",
    "niends_with"
  ],
  "timestamp": [
    "eq",
    "neq",
    "lt",
    "lte",
    "gt",
    "gte",
    "between",
    "nbetween",
    "in",
    "nin",
    "null",
    "nnull"
  ],
  "uuid": [
    "eq",
    "neq",
    "in",
    "nin",
    "null",
    "nnull"
  ]
} as const;
