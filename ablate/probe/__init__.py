"""Measurements that need no training: a level of `probe` each, and what they share.

attention   attention_algebra, attention_weights, dot_products, dot_product_powers, initial_scores,
            fast_weights, heads_in_training
            shared: attention_loops, divided_heads, hand_set_heads, identical_heads
positions   position_formula, sinusoids
            shared: distinct, relabelled, spelled, waves
masks       causal_masks, mask_fills, empty_rows, padding_outputs, padding_places, padding_vectors,
            training_batches
dependence  dataflow, influence, teacher_forcing, who_sees_whom, word_order
            shared: wires
layers      additivity, blocks, depth, embeddings, faint_vectors, feed_forward, initial_scale,
            loss_gradients, normalisation
torch       torch_layers, torch_library
            shared: torch_twin
cost        parameter_count, operations, dependent_steps, decoding_passes, seconds, step_time,
            batch_cost, peak_memory
            shared: counting, of_work, others, works
search      search_reference
documents   listing, worked_example
all         shared: base, random_models, sentences
"""
