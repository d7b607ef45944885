;; The first place of a needle in a range of memory, -1 if there is none. Letters match in either case, because bit 5
;; is set on both sides; that also mixes up a few other bytes (@ and `, [ and {), so a hit is a candidate, not a proof.
;; Places are tested by the needle's first and last byte: 64 at a time while there is no candidate, then sixteen at a time.
;; The caller keeps 16 readable bytes and the length of the needle behind `end`, and has set bit 5 in the needle.
(module
  (import "env" "memory" (memory 1))
  (func (export "find") (param $at i32) (param $end i32) (param $needle i32) (param $length i32) (result i32)
    (local $first v128) (local $last v128) (local $fold v128)
    (local $span i32) (local $limit i32) (local $mask i32) (local $candidate i32) (local $i i32) (local $far i32) (local $stop i32)
    (local.set $span (i32.sub (local.get $length) (i32.const 1)))
    (local.set $limit (i32.sub (local.get $end) (local.get $span)))
    (local.set $fold (i8x16.splat (i32.const 0x20)))
    (local.set $first (i8x16.splat (i32.load8_u (local.get $needle))))
    (local.set $last (i8x16.splat (i32.load8_u (i32.add (local.get $needle) (local.get $span)))))
    (block $done
      (loop $wide
        ;; Four blocks of sixteen bytes without a candidate are passed over in one step.
        (block $near
          (loop $skip
            (br_if $near (i32.gt_s (i32.add (local.get $at) (i32.const 64)) (local.get $limit)))
            (local.set $far (i32.add (local.get $at) (local.get $span)))
            (br_if $near
              (v128.any_true
                (v128.or
                  (v128.or
                    (v128.and
                      (i8x16.eq (v128.or (v128.load align=1 (local.get $at)) (local.get $fold)) (local.get $first))
                      (i8x16.eq (v128.or (v128.load align=1 (local.get $far)) (local.get $fold)) (local.get $last)))
                    (v128.and
                      (i8x16.eq (v128.or (v128.load offset=16 align=1 (local.get $at)) (local.get $fold)) (local.get $first))
                      (i8x16.eq (v128.or (v128.load offset=16 align=1 (local.get $far)) (local.get $fold)) (local.get $last))))
                  (v128.or
                    (v128.and
                      (i8x16.eq (v128.or (v128.load offset=32 align=1 (local.get $at)) (local.get $fold)) (local.get $first))
                      (i8x16.eq (v128.or (v128.load offset=32 align=1 (local.get $far)) (local.get $fold)) (local.get $last)))
                    (v128.and
                      (i8x16.eq (v128.or (v128.load offset=48 align=1 (local.get $at)) (local.get $fold)) (local.get $first))
                      (i8x16.eq (v128.or (v128.load offset=48 align=1 (local.get $far)) (local.get $fold)) (local.get $last)))))))
            (local.set $at (i32.add (local.get $at) (i32.const 64)))
            (br $skip)))
        (local.set $stop (i32.add (local.get $at) (i32.const 64)))
        (block $passed
          (loop $next
            (br_if $done (i32.ge_s (local.get $at) (local.get $limit)))
            (br_if $passed (i32.ge_s (local.get $at) (local.get $stop)))
            (local.set $mask
              (i8x16.bitmask
                (v128.and
                  (i8x16.eq (v128.or (v128.load align=1 (local.get $at)) (local.get $fold)) (local.get $first))
                  (i8x16.eq
                    (v128.or (v128.load align=1 (i32.add (local.get $at) (local.get $span))) (local.get $fold))
                    (local.get $last)))))
            (block $none
              (loop $each
                (br_if $none (i32.eqz (local.get $mask)))
                (local.set $candidate (i32.add (local.get $at) (i32.ctz (local.get $mask))))
                (br_if $done (i32.ge_s (local.get $candidate) (local.get $limit)))
                (local.set $mask (i32.and (local.get $mask) (i32.sub (local.get $mask) (i32.const 1))))
                (local.set $i (i32.const 1))
                (block $different
                  (loop $compare
                    (if (i32.ge_s (local.get $i) (local.get $span)) (then (return (local.get $candidate))))
                    (br_if $different
                      (i32.ne
                        (i32.or (i32.load8_u (i32.add (local.get $candidate) (local.get $i))) (i32.const 0x20))
                        (i32.load8_u (i32.add (local.get $needle) (local.get $i)))))
                    (local.set $i (i32.add (local.get $i) (i32.const 1)))
                    (br $compare)))
                (br $each)))
            (local.set $at (i32.add (local.get $at) (i32.const 16)))
            (br $next)))
        (br $wide)))
    (i32.const -1)))
